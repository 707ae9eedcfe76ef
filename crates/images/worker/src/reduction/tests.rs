use std::cell::RefCell;

use proptest::prelude::*;

use super::*;

proptest! {
    /// The result is that of trying every quality, with at most seven encodings.
    #[test]
    fn bisection_finds_the_highest_quality_that_fits(
        steps in prop::collection::vec(0_usize..40, 98),
        highest in 1_u8..=98,
        bytes_max in 1_usize..3_000,
    ) {
        let lengths: Vec<usize> = steps
            .iter()
            .scan(20, |length, step| {
                *length += step;
                Some(*length)
            })
            .collect();
        let encoded = RefCell::new(Vec::new());
        let encode = |quality: u8| {
            encoded.borrow_mut().push(quality);
            Ok(vec![quality; lengths[usize::from(quality) - 1]])
        };
        let first = vec![highest; lengths[usize::from(highest) - 1]];
        let found = bisect(bytes_max, highest, first, encode).expect("encodings succeed");
        let tried = encoded.into_inner();
        prop_assert!(tried.len() <= 7, "{tried:?}");
        let fits = |quality: &u8| lengths[usize::from(*quality) - 1] <= bytes_max;
        match (1..=highest).rev().find(fits) {
            Some(best) => prop_assert_eq!(found[0], best),
            None => prop_assert_eq!(found.len(), lengths[0]),
        }
    }
}

#[test]
fn lossless_encodings_become_lossy_and_a_png_stays() {
    let webp = |quality, lossless| Encoding::Webp {
        quality,
        method: 4,
        lossless,
    };
    assert_eq!(lossy(webp(100, true)), Some(webp(98, false)));
    assert_eq!(lossy(webp(70, false)), Some(webp(70, false)));
    assert_eq!(lossy(Encoding::Png), None);
}
