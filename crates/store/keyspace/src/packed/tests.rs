use proptest::prelude::*;

use super::*;

/// Maximum number of steps in a random sequence. Each step compares all elements with the model, so
/// the time grows with the cube of this number, and it is smaller under Miri.
const STEPS_MAX: usize = if cfg!(miri) { 24 } else { 80 };

fn texts(packed: &Packed) -> Vec<Vec<u8>> {
    packed
        .iter()
        .map(|element| element.bytes.to_vec())
        .collect()
}

#[derive(Clone, Debug)]
enum Step {
    Insert(usize, Vec<u8>),
    Remove(usize),
    Replace(usize, Vec<u8>),
    RemoveRange(usize, usize),
    Split(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..8),
        prop::collection::vec(any::<u8>(), 250..260),
    ];
    let step = prop_oneof![
        4 => (any::<usize>(), text.clone()).prop_map(|(at, text)| Step::Insert(at, text)),
        1 => any::<usize>().prop_map(Step::Remove),
        1 => (any::<usize>(), text).prop_map(|(at, text)| Step::Replace(at, text)),
        1 => (any::<usize>(), 0..3usize).prop_map(|(at, many)| Step::RemoveRange(at, many)),
        1 => any::<usize>().prop_map(Step::Split),
    ];
    prop::collection::vec(step, 0..STEPS_MAX)
}

proptest! {
    #[test]
    fn behaves_like_a_vector_of_strings(steps in steps()) {
        let mut packed = Packed::default();
        let mut model: Vec<Vec<u8>> = Vec::new();
        for step in steps {
            let len = model.len();
            match step {
                Step::Insert(index, text) => {
                    let index = index % (len + 1);
                    packed.insert(packed.offset(index), &text);
                    model.insert(index, text);
                }
                Step::Remove(index) if 0 < len => {
                    packed.remove(packed.offset(index % len));
                    model.remove(index % len);
                }
                Step::Replace(index, text) if 0 < len => {
                    packed.replace(packed.offset(index % len), &text);
                    model[index % len] = text;
                }
                Step::RemoveRange(index, many) => {
                    let start = index % (len + 1);
                    let range = start..(start + many).min(len);
                    packed.remove_range(range.clone());
                    model.drain(range);
                }
                Step::Split(index) => {
                    let mut front = packed.clone();
                    let back = front.split_off(index % (len + 1));
                    prop_assert_eq!(texts(&front), &model[..index % (len + 1)]);
                    back.iter().for_each(|it| front.push_back(it.bytes));
                    packed = front;
                }
                Step::Remove(_) | Step::Replace(..) => {}
            }
            prop_assert_eq!(texts(&packed), &model[..]);
            prop_assert_eq!(packed.len(), model.len());
            let mut back: Vec<_> = packed.iter().rev().map(|it| it.bytes.to_vec()).collect();
            back.reverse();
            prop_assert_eq!(&back, &model);
            let bytes: usize = model.iter().map(|text| record_bytes(text.len())).sum();
            prop_assert_eq!(packed.bytes(), bytes);
            for (index, text) in model.iter().enumerate() {
                prop_assert_eq!(packed.get(index), Some(&text[..]));
            }
        }
    }
}
