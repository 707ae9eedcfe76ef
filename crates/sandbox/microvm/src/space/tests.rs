use super::Space;
use crate::layout::PAGE_BYTES;
use proptest::prelude::*;
use std::collections::BTreeSet;

const HEAP: u64 = 0x100_0000;
const TOP: u64 = 0x1000_0000;
const MAX: u64 = 0x80_0000;

#[test]
fn what_was_given_back_is_given_again() {
    let mut space = Space::new(HEAP, TOP, MAX);
    let first = space.map(0x3000).expect("there is room");
    let second = space.map(0x1000).expect("there is room");
    assert_eq!((first, second), (TOP - 0x3000, TOP - 0x4000));
    space.unmap(first..first + 0x3000);
    assert_eq!(space.map(0x2000), Some(TOP - 0x2000));
    assert_eq!(space.used_bytes(), 0x3000);
}

#[test]
fn heap_and_mappings_share_one_limit() {
    let mut space = Space::new(HEAP, TOP, 0x10_0000);
    let (end, _) = space.set_break(HEAP + 0x8_0000);
    assert_eq!(end, HEAP + 0x8_0000);
    assert_eq!(space.map(0x8_1000), None);
    assert!(space.map(0x8_0000).is_some());
    assert_eq!(
        space.set_break(end + 1),
        (end, end..end),
        "the old end is the refusal"
    );
    space.allow(0x1000);
    assert_eq!(space.set_break(end + 0x1000).0, end + 0x1000);
}

/// One allocation step of a program.
#[derive(Clone, Copy, Debug)]
enum Step {
    Break(u64),
    Map(u64),
    Unmap(u64, u64),
    Take(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let pages = |most: u64| (0..most).prop_map(|pages| pages * PAGE_BYTES);
    let place = || (0_u64..0x900).prop_map(|page| TOP - 0x90_0000 + page * PAGE_BYTES);
    prop_oneof![
        (HEAP - 10..HEAP + MAX * 2).prop_map(Step::Break),
        pages(0x300).prop_map(Step::Map),
        (place(), pages(0x40)).prop_map(|(place, bytes)| Step::Unmap(place, bytes)),
        (place(), pages(0x40)).prop_map(|(place, bytes)| Step::Take(place, bytes)),
    ]
}

proptest! {
    /// Compares the allocator with a set of pages: no page is allocated twice, and the memory limit
    /// is never exceeded.
    #[test]
    fn no_page_is_given_twice(steps in prop::collection::vec(step(), 1..60)) {
        let mut space = Space::new(HEAP, TOP, MAX);
        let mut allocated = BTreeSet::new();
        let pages = |place: u64, bytes: u64| (place..place + bytes).step_by(PAGE_BYTES as usize);
        for step in steps {
            match step {
                Step::Break(end) => {
                    let (now, dropped) = space.set_break(end);
                    prop_assert!((HEAP..=HEAP + MAX).contains(&now));
                    prop_assert!(dropped.is_empty() || now <= dropped.start);
                }
                Step::Map(bytes) => {
                    if let Some(place) = space.map(bytes) {
                        for page in pages(place, bytes) {
                            prop_assert!(allocated.insert(page), "{:#x} twice", page);
                        }
                    }
                }
                Step::Unmap(place, bytes) => {
                    let range = place..place + bytes;
                    if space.is_mapping(&range) {
                        space.unmap(range);
                        pages(place, bytes).for_each(|page| { allocated.remove(&page); });
                    }
                }
                Step::Take(place, bytes) => {
                    let range = place..place + bytes;
                    if space.is_mapping(&range) && space.take(&range) {
                        allocated.extend(pages(place, bytes));
                    }
                }
            }
            prop_assert!(allocated.len() as u64 * PAGE_BYTES <= space.used_bytes());
            prop_assert!(space.used_bytes() <= MAX);
            prop_assert!(space.used_bytes() <= space.peak_bytes());
        }
    }
}
