use proptest::prelude::*;

use super::{fold_any, fold_plain};

proptest! {
    #[test]
    fn plain_text_folds_as_any_other(text in "[ -~\\t]{0,40}") {
        prop_assert_eq!(fold_plain(&text), fold_any(&text));
    }
}
