use super::audio::{Audio, ms};
use super::comment::{comment_fields, comments};
use crate::art::Cover;
use crate::payload::Ogg;
use crate::plan::Song;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FIRST: u8 = 2;
const LAST: u8 = 4;
const CONTINUED: u8 = 1;

fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .fold(0u32, |word, &byte| word << 8 | u32::from(byte));
        let word = word << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { letter } else { b'=' });
        }
    }
    out
}

pub(super) fn write(song: &Song, cover: Option<&Cover>, payloads: &[Ogg]) -> (Vec<u8>, Audio) {
    let mut random = song.random.clone();
    let payload = random.pick(payloads);
    let upper = random.percent(70);
    let mut fields = comment_fields(song, upper);
    if let Some(cover) = cover {
        let picture = [&b"METADATA_BLOCK_PICTURE="[..], &base64(&cover.block())].concat();
        let at = if random.percent(10) { 0 } else { fields.len() };
        fields.insert(at, picture);
    }
    let comments = comments(&fields);
    let packets = match &payload.setup {
        None => vec![[&b"OpusTags"[..], &comments].concat()],
        Some(setup) => vec![
            [&b"\x03vorbis"[..], &comments, &[1]].concat(),
            setup.clone(),
        ],
    };
    // Encoders fill pages up to 255 segments. Some taggers write pages of at most 4 KiB, which is
    // 16 segments.
    let segments_max = if random.percent(70) { 255 } else { 16 };
    let mut stream = Stream {
        serial: random.next() as u32,
        sequence: 0,
        out: Vec::new(),
    };
    stream.packets(std::slice::from_ref(&payload.first), FIRST, 255);
    stream.packets(&packets, 0, segments_max);
    let few = payload.pages.len().div_ceil(2);
    let pages = &payload.pages[..random.within(few, payload.pages.len())];
    for (index, page) in pages.iter().enumerate() {
        let last = if index + 1 == pages.len() { LAST } else { 0 };
        let flags = page.flags & CONTINUED | last;
        stream.page(flags, page.granule, &page.lengths, &page.body);
    }
    let end = pages.iter().rev().find(|page| page.granule != u64::MAX);
    let samples = end.map_or(0, |page| page.granule.saturating_sub(payload.skip));
    let audio = Audio {
        duration_ms: ms(samples, payload.sample_rate_hz),
        sample_rate_hz: payload.sample_rate_hz,
        channels: payload.channels,
    };
    (stream.out, audio)
}

struct Stream {
    serial: u32,
    sequence: u32,
    out: Vec<u8>,
}

impl Stream {
    /// Writes packets over as many pages as they need. The last page ends with the last packet.
    fn packets(&mut self, packets: &[Vec<u8>], flags: u8, segments_max: usize) {
        let mut lengths = Vec::new();
        for packet in packets {
            lengths.extend(vec![255; packet.len() / 255]);
            lengths.push((packet.len() % 255) as u8);
        }
        let body = packets.concat();
        let (mut at, mut continues) = (0, false);
        for lengths in lengths.chunks(segments_max) {
            let bytes: usize = lengths.iter().map(|&length| usize::from(length)).sum();
            let ends = lengths.iter().any(|&length| length < 255);
            let granule = if ends { 0 } else { u64::MAX };
            let flags = flags | if continues { CONTINUED } else { 0 };
            self.page(flags, granule, lengths, &body[at..at + bytes]);
            at += bytes;
            continues = lengths.last() == Some(&255);
        }
    }

    fn page(&mut self, flags: u8, granule: u64, lengths: &[u8], body: &[u8]) {
        let start = self.out.len();
        self.out.extend(b"OggS\0");
        self.out.push(flags);
        self.out.extend(granule.to_le_bytes());
        self.out.extend(self.serial.to_le_bytes());
        self.out.extend(self.sequence.to_le_bytes());
        self.out.extend([0; 4]);
        self.out.push(lengths.len() as u8);
        self.out.extend(lengths);
        self.out.extend(body);
        let crc = checksum(&self.out[start..]);
        self.out[start + 22..start + 26].copy_from_slice(&crc.to_le_bytes());
        self.sequence += 1;
    }
}

/// Returns the CRC of a page whose CRC field is zero: polynomial 04C11DB7, not reflected, not
/// inverted.
fn checksum(page: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let mut word = (index as u32) << 24;
            let mut bit = 0;
            while bit < 8 {
                word = if word >> 31 == 1 {
                    word << 1 ^ 0x04c1_1db7
                } else {
                    word << 1
                };
                bit += 1;
            }
            table[index] = word;
            index += 1;
        }
        table
    };
    page.iter().fold(0, |crc, &byte| {
        crc << 8 ^ TABLE[usize::from((crc >> 24) as u8 ^ byte)]
    })
}
