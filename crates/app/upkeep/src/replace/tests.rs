use std::io::ErrorKind;
use std::path::Path;

use super::replace;

#[test]
fn a_path_without_a_file_name_is_refused() {
    for path in ["", "/", "..", "folder/.."] {
        let mut is_written = false;
        let replaced = replace(Path::new(path), |_| {
            is_written = true;
            Ok(())
        });
        let error = replaced.expect_err(path);
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{path}");
        assert_eq!(error.to_string(), "the path has no file name", "{path}");
        assert!(!is_written, "{path}");
    }
}
