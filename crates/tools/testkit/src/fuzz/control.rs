//! What a pool and its zygote tell each other.

use sandbox_protocol::control::{CONTROL_BYTES_MAX, Command, Report, TEXT_BYTES_MAX};

/// What one of both sent: a packet is a command, a report or neither, never both, and has one meaning.
pub fn control(bytes: &[u8]) {
    // What both read into is no longer.
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
            // Bytes that are no text have become more, and were cut.
            Report::Broken(text) | Report::Tables(text) if TEXT_BYTES_MAX < text.len() => {
                assert!(again.is_some());
            }
            _ => assert_eq!(again, Some(report)),
        }
    }
}
