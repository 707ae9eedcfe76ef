//! Fuzz target for the messages between a pool of sandboxes and its zygote, the process that is
//! forked for each job.

use sandbox_protocol::control::{CONTROL_BYTES_MAX, Command, Report, TEXT_BYTES_MAX};

/// Checks `bytes` as a packet: it is never both a valid command and a valid report, and a valid
/// message does not change when it is encoded and decoded again.
pub fn control(bytes: &[u8]) {
    // The pool and the zygote both read into a buffer of this size.
    let bytes = &bytes[..bytes.len().min(CONTROL_BYTES_MAX)];
    let command = Command::from_bytes(bytes);
    let report = Report::from_bytes(bytes);
    assert!(command.is_none() || report.is_none());
    if let Some(command) = command {
        assert_eq!(Command::from_bytes(&command.to_bytes()), Some(command));
    }
    if let Some(report) = report {
        let packet = report.to_bytes();
        assert!(packet.len() <= CONTROL_BYTES_MAX);
        let again = Report::from_bytes(&packet);
        match &report {
            // The text may have become too long, because decoding replaces invalid UTF-8 by longer
            // characters. The encoder truncates such a text, so the second report may differ.
            Report::Broken(text) | Report::Tables(text) if TEXT_BYTES_MAX < text.len() => {
                assert!(again.is_some());
            }
            _ => assert_eq!(again, Some(report)),
        }
    }
}
