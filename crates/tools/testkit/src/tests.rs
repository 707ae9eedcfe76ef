use std::fs;
use std::path::Path;

use crate::fuzz::TARGETS;

/// Maximum number of files in a corpus. The tests replay each corpus, so this number and the total
/// size ([`CORPUS_BYTES_MAX`]) must stay small.
const CORPUS_FILES_MAX: usize = 200;
const CORPUS_BYTES_MAX: usize = 200_000;

/// Replays the inputs that were kept from fuzzing, including former crashes, without a fuzzer.
#[test]
fn every_corpus_holds() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus");
    for target in TARGETS {
        let corpus = corpora.join(target.name);
        let files = fs::read_dir(&corpus).expect("a corpus for each target");
        let mut count = 0;
        let mut sum = 0;
        for file in files {
            let path = file.expect("a readable folder").path();
            let bytes = fs::read(&path).expect("a readable file");
            // The test harness shows this output only if the test fails.
            println!("{}", path.display());
            (target.check)(&bytes);
            count += 1;
            sum += bytes.len();
        }
        let corpus = corpus.display();
        assert!(
            (1..=CORPUS_FILES_MAX).contains(&count),
            "{corpus}: {count} files"
        );
        assert!(sum <= CORPUS_BYTES_MAX, "{corpus}: {sum} bytes");
    }
}

/// Checks that each fuzz target has a program. The programs are built only for fuzzing, so no other
/// test would detect that one is missing.
#[test]
fn every_target_has_a_program() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz");
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).expect("a manifest");
    for name in TARGETS.map(|target| target.name) {
        let program = fuzz.join(format!("fuzz_targets/{name}.rs"));
        let program = fs::read_to_string(program).expect("a program");
        assert!(
            program.contains(&format!("testkit::fuzz::{name}(bytes)")),
            "{program}"
        );
        assert!(
            manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")),
            "{name}"
        );
    }
    let programs = fs::read_dir(fuzz.join("fuzz_targets")).expect("the folder of programs");
    assert_eq!(programs.count(), TARGETS.len());
}
