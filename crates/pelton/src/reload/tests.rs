use super::LIVE;
use crate::config::Key;

#[test]
fn what_changes_live_is_known() {
    for name in LIVE {
        assert!(Key::named(name).is_some(), "{name}");
    }
}
