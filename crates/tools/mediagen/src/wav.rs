//! WAV files (RIFF).

/// Returns a WAV file with `chunk` after the samples.
pub(crate) fn wav_file(
    rate: u32,
    channels: u16,
    bits: u8,
    samples: &[u8],
    chunk: &[u8],
) -> Vec<u8> {
    let frame_bytes = channels * u16::from(bits / 8);
    let mut out = b"RIFF".to_vec();
    out.extend((36 + samples.len() as u32 + chunk.len() as u32).to_le_bytes());
    out.extend(b"WAVEfmt \x10\0\0\0\x01\0");
    out.extend(channels.to_le_bytes());
    out.extend(rate.to_le_bytes());
    out.extend((rate * u32::from(frame_bytes)).to_le_bytes());
    out.extend(frame_bytes.to_le_bytes());
    out.extend(u16::from(bits).to_le_bytes());
    out.extend(b"data");
    out.extend((samples.len() as u32).to_le_bytes());
    out.extend(samples);
    out.extend(chunk);
    out
}
