//! Properties that hold for arbitrary input in arbitrary pieces.

use proptest::prelude::*;

use super::frames::{GET, HEADERS, POST, WHOLE, frame};

/// Generates bytes that often are valid frames.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40),
        Just(GET.to_vec()),
        Just(POST.to_vec()),
        Just(vec![0, 0, 0, 1]),
        Just(vec![0, 4, 0, 0, 0, 9]),
    ];
    let one = (0_u8..11, any::<u8>(), 0_u32..12, payload);
    let one = one.prop_map(|(kind, flags, stream, payload)| {
        // The value 10 stands for a complete head, so that many frames open a stream.
        let (kind, flags) = match kind {
            10 => (HEADERS, WHOLE),
            kind => (kind, flags & 0x2d),
        };
        frame(kind, flags, stream, &payload)
    });
    proptest::collection::vec(one, 0..40).prop_map(|frames| frames.concat())
}

proptest! {
    #[test]
    fn arbitrary_frames_keep_the_invariants(frames in frames()) {
        testkit::fuzz::h2(&frames);
    }

    #[test]
    fn arbitrary_bytes_keep_the_invariants(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        testkit::fuzz::h2(&bytes);
    }
}
