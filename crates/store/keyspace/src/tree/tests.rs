use proptest::prelude::*;

use super::*;

/// Maximum number of steps in a random sequence. A step inserts or removes up to 700 items, so
/// there are fewer steps under Miri.
const STEPS_MAX: usize = if cfg!(miri) { 12 } else { 40 };
/// Number of items of the larger tree. Under Miri it still has several leaves below its root.
const ITEMS: u32 = if cfg!(miri) { 1_000 } else { 10_000 };

fn all(tree: &Tree<u32>) -> Vec<u32> {
    let mut items = Vec::new();
    tree.ascend(0..tree.len, &mut |item| {
        items.push(item);
        true
    });
    items
}

/// Asserts that the counts and first items of all nodes are correct, and that no leaf is empty.
fn assert_sound(node: &Node<u32>) -> usize {
    match node {
        Node::Leaf(items) => items.len(),
        Node::Inner(children) => {
            assert!(children.len() <= CHILDREN_MAX);
            for child in children {
                assert_eq!(assert_sound(&child.node), child.count);
                assert_eq!(Child::new(child.node.clone()).first, child.first);
            }
            children.iter().map(|child| child.count).sum()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 48 }))]

    #[test]
    fn behaves_like_a_sorted_vector(steps in prop::collection::vec((0..4000u32, 0..700u32, prop::bool::weighted(0.6)), 1..STEPS_MAX)) {
        let mut tree = Tree::new();
        let mut model = std::collections::BTreeSet::new();
        for (start, many, adds) in steps {
            for item in start..start + many {
                if adds && model.insert(item) {
                    tree.insert(item, &Ord::cmp);
                } else if !adds {
                    prop_assert_eq!(tree.remove(&item, &Ord::cmp), model.remove(&item));
                }
            }
            prop_assert_eq!(assert_sound(&tree.root), tree.len);
            let sorted: Vec<u32> = model.iter().copied().collect();
            prop_assert_eq!(all(&tree), &sorted[..]);
            let from = sorted.partition_point(|&item| item < start);
            prop_assert_eq!(tree.rank(|&item| item < start), from);
            let range = from..(from + 100).min(sorted.len());
            let mut back = Vec::new();
            tree.descend(range.clone(), &mut |item| { back.push(item); true });
            back.reverse();
            prop_assert_eq!(&back[..], &sorted[range]);
        }
    }
}

#[test]
fn descending_and_alternating_inserts() {
    let mut tree = Tree::new();
    for item in (0..ITEMS).rev() {
        tree.insert(item ^ 0x155, &Ord::cmp);
    }
    assert_sound(&tree.root);
    assert_eq!(tree.len, ITEMS as usize);
    let items = all(&tree);
    assert!(items.is_sorted());
}
