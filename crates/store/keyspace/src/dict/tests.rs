use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const SEED: Seed = Seed(1, 2);
/// Number of items in a table that grows and shrinks several times. It is smaller under Miri, which
/// takes about a millisecond per operation.
const ITEMS: u32 = if cfg!(miri) { 1_000 } else { 20_000 };
/// Maximum number of steps in a random sequence. A step inserts or removes up to 1,500 items, so
/// there are fewer steps under Miri.
const STEPS_MAX: usize = if cfg!(miri) { 16 } else { 60 };

#[derive(Clone, Debug)]
struct Pair {
    key: Vec<u8>,
    value: u32,
    link: u32,
}

impl Item for Pair {
    fn key(&self) -> &[u8] {
        &self.key
    }

    fn link(&self) -> u32 {
        self.link
    }

    fn set_link(&mut self, link: u32) {
        self.link = link;
    }

    fn heap_bytes(&self) -> usize {
        self.key.len()
    }
}

fn pair(number: u32) -> Pair {
    Pair {
        key: number.to_string().into_bytes(),
        value: number,
        link: 0,
    }
}

fn scan_all(dict: &Dict<Pair>) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut cursor = 0;
    loop {
        cursor = dict.scan(cursor, |_, item| seen.push(item.value));
        if cursor == 0 {
            return seen;
        }
    }
}

#[test]
fn behaves_like_a_map() {
    let mut dict = Dict::new(SEED);
    for number in 0..ITEMS {
        dict.insert(pair(number));
    }
    for number in 0..ITEMS {
        assert_eq!(
            dict.get(number.to_string().as_bytes()).map(|it| it.value),
            Some(number)
        );
    }
    assert!(dict.get(ITEMS.to_string().as_bytes()).is_none());
    let mut seen = scan_all(&dict);
    seen.sort_unstable();
    assert_eq!(seen, (0..ITEMS).collect::<Vec<_>>());

    for number in 0..ITEMS {
        if number % 50 != 0 {
            assert!(dict.remove(number.to_string().as_bytes()).is_some());
        }
    }
    let left = ITEMS as usize / 50;
    assert_eq!(dict.len(), left);
    assert!(dict.heads.len() <= left * BUCKETS_PER_ENTRY_MAX);
    let seen: BTreeSet<u32> = scan_all(&dict).into_iter().collect();
    assert_eq!(seen.len(), left);
}

#[test]
fn random_reaches_every_item() {
    let mut dict = Dict::new(SEED);
    for number in 0..64 {
        dict.insert(pair(number));
    }
    let mut rng = fastrand::Rng::with_seed(7);
    let seen: BTreeSet<u32> = (0..2000).filter_map(|_| dict.random(&mut rng)).collect();
    assert_eq!(seen.len(), 64);
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u32),
    Remove(u32),
    InsertMany(u32),
    RemoveMany(u32),
    Scan,
    Compact(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..3000u32).prop_map(Step::Insert),
        (0..3000u32).prop_map(Step::Remove),
        (0..3000u32).prop_map(Step::InsertMany),
        (0..3000u32).prop_map(Step::RemoveMany),
        Just(Step::Scan),
        Just(Step::Scan),
        (1..4000usize).prop_map(Step::Compact),
    ];
    prop::collection::vec(step, 1..STEPS_MAX)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]

    /// A complete scan visits every item that exists during the whole scan, even if the table grows
    /// and shrinks meanwhile.
    #[test]
    fn scan_misses_nothing(steps in steps()) {
        let mut dict: Dict<Pair> = Dict::new(SEED);
        let mut model = BTreeMap::new();
        let mut staying: BTreeSet<u32> = BTreeSet::new();
        let mut seen: BTreeSet<u32> = BTreeSet::new();
        let mut cursor = 0;
        for step in steps {
            let (numbers, adds) = match step {
                Step::Insert(number) => (number..number + 1, true),
                Step::Remove(number) => (number..number + 1, false),
                Step::InsertMany(number) => (number..number + 500, true),
                Step::RemoveMany(number) => (number..number + 1500, false),
                Step::Scan => {
                    cursor = dict.scan(cursor, |_, item| { seen.insert(item.value); });
                    if cursor == 0 {
                        prop_assert!(staying.is_subset(&seen));
                        seen.clear();
                        staying = model.keys().copied().collect();
                    }
                    continue;
                }
                Step::Compact(count) => {
                    if !dict.is_compacting() {
                        dict.start_compaction();
                    }
                    let mut steps = (0..count).map(|_| dict.compact());
                    steps.any(|step| step == Compaction::Done);
                    continue;
                }
            };
            for number in numbers {
                let key = number.to_string();
                if adds && model.insert(number, ()).is_none() {
                    dict.insert(pair(number));
                } else if !adds {
                    let removed = dict.remove(key.as_bytes()).is_some();
                    prop_assert_eq!(removed, model.remove(&number).is_some());
                    staying.remove(&number);
                }
            }
            prop_assert_eq!(dict.len(), model.len());
        }
        while { cursor = dict.scan(cursor, |_, item| { seen.insert(item.value); }); cursor != 0 } {}
        prop_assert!(staying.is_subset(&seen));
        let bytes: usize = model.keys().map(|number| number.to_string().len()).sum();
        prop_assert_eq!(dict.items_heap_bytes, bytes);
        dict.start_compaction();
        while dict.compact() != Compaction::Done {}
        prop_assert_eq!(dict.slots() as usize, model.len());
        prop_assert!(model.keys().all(|number| dict.get(number.to_string().as_bytes()).is_some()));
    }
}
