//! Payloads: encoded audio, split into frames or pages so that each song can get a part of a
//! payload.

use std::fs;
use std::path::Path;
use std::process::Command;

use toolkit::command::succeed;
use toolkit::stop::{Stop, at};

use crate::plan::Kind;
use crate::random::Random;
use crate::wav::wav_file;

/// Sounds to encode, each as sample rate, number of channels, bits per sample and seconds.
const SOURCES: &[(u32, u16, u8, u32)] = &[
    (44_100, 2, 16, 3),
    (44_100, 2, 16, 8),
    (44_100, 1, 16, 12),
    (48_000, 2, 16, 5),
    (96_000, 2, 24, 2),
];

/// Encoded audio of every kind, from which the songs are cut.
#[derive(Default)]
pub struct Payloads {
    pub(crate) flac: Vec<Flac>,
    pub(crate) mp3: Vec<Mp3>,
    pub(crate) aac: Vec<Mp4>,
    pub(crate) alac: Vec<Mp4>,
    pub(crate) opus: Vec<Ogg>,
    pub(crate) vorbis: Vec<Ogg>,
}

/// FLAC payload: the STREAMINFO block, and frames of equal duration.
pub(crate) struct Flac {
    pub(crate) info: [u8; 34],
    pub(crate) block_samples: u64,
    pub(crate) sample_rate_hz: u32,
    pub(crate) channels: u16,
    pub(crate) frames: Vec<Vec<u8>>,
}

/// MP3 payload: the frame with the encoder's header, and the audio frames.
pub(crate) struct Mp3 {
    pub(crate) head: Vec<u8>,
    pub(crate) sample_rate_hz: u32,
    pub(crate) channels: u16,
    pub(crate) frame_samples: u64,
    /// Number of samples of delay and padding that the encoder added.
    pub(crate) added: u64,
    pub(crate) frames: Vec<Vec<u8>>,
}

/// MP4 payload: the boxes of `moov` except user data, and the content of `mdat`.
pub(crate) struct Mp4 {
    pub(crate) moov: Vec<Vec<u8>>,
    pub(crate) mdat: Vec<u8>,
    /// Offset of `mdat`'s content in the encoded file.
    pub(crate) mdat_at: u64,
    pub(crate) duration_ms: u64,
    pub(crate) sample_rate_hz: u32,
    pub(crate) channels: u16,
}

/// Ogg payload: the header packets except the comments, and the pages of audio.
pub(crate) struct Ogg {
    pub(crate) first: Vec<u8>,
    pub(crate) setup: Option<Vec<u8>>,
    pub(crate) sample_rate_hz: u32,
    pub(crate) channels: u16,
    pub(crate) skip: u64,
    pub(crate) pages: Vec<Page>,
}

/// Ogg page: its flags, granule position, table of segment lengths, and content.
pub(crate) struct Page {
    pub(crate) flags: u8,
    pub(crate) granule: u64,
    pub(crate) lengths: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Payloads {
    /// Encodes the payloads that are missing in `folder`, and loads all payloads.
    ///
    /// # Errors
    /// When an encoder fails or the disk refuses a write.
    pub fn prepare(folder: &Path) -> Result<Payloads, Stop> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let mut payloads = Payloads::default();
        for (index, &source) in SOURCES.iter().enumerate() {
            let wav = folder.join(format!("{index}.wav"));
            if !wav.is_file() {
                let partial = folder.join(format!("{index}.partial"));
                fs::write(&partial, wave(source, index)).map_err(at(&partial))?;
                fs::rename(&partial, &wav).map_err(at(&wav))?;
            }
            for (kind, ending, command) in ENCODERS {
                let out = folder.join(format!("{index}.{ending}"));
                if !out.is_file() {
                    let partial = folder.join(format!("{index}.partial.{ending}"));
                    let words = command.iter().map(|word| match *word {
                        "IN" => wav.as_os_str().to_owned(),
                        "OUT" => partial.as_os_str().to_owned(),
                        word => word.into(),
                    });
                    let words: Vec<_> = words.collect();
                    succeed(Command::new(&words[0]).args(&words[1..])).map_err(Stop::on_host)?;
                    fs::rename(&partial, &out).map_err(at(&out))?;
                }
                payloads.add(*kind, &fs::read(&out).map_err(at(&out))?);
            }
        }
        Ok(payloads)
    }

    /// Splits `file`, which an encoder made, and adds it to the payloads of this kind. Does nothing
    /// for WAV and AIFF, which need no encoder.
    ///
    /// # Panics
    /// When `file` is not of this kind.
    pub fn add(&mut self, kind: Kind, file: &[u8]) {
        match kind {
            Kind::Flac => self.flac.push(flac(file)),
            Kind::Mp3 => self.mp3.push(mp3(file)),
            Kind::Aac => self.aac.push(mp4(file)),
            Kind::Alac => self.alac.push(mp4(file)),
            Kind::Opus => self.opus.push(ogg(file)),
            Kind::Vorbis => self.vorbis.push(ogg(file)),
            Kind::Wav | Kind::Aiff => {}
        }
    }
}

/// Sync code of a FLAC frame with a fixed block size.
const FLAC_SYNC: &[u8] = &[0xff, 0xf8];

/// Kind, file extension and command line of each encoder.
const ENCODERS: &[(Kind, &str, &[&str])] = &[
    (
        Kind::Flac,
        "flac",
        &[
            "flac",
            "-s",
            "-8",
            "--no-padding",
            "--no-seektable",
            "-f",
            "-o",
            "OUT",
            "IN",
        ],
    ),
    (
        Kind::Mp3,
        "v.mp3",
        &["lame", "--quiet", "-V5", "--noreplaygain", "IN", "OUT"],
    ),
    (
        Kind::Mp3,
        "c.mp3",
        &["lame", "--quiet", "-b128", "--noreplaygain", "IN", "OUT"],
    ),
    (
        Kind::Aac,
        "m4a",
        &[
            "ffmpeg",
            "-v",
            "error",
            "-y",
            "-i",
            "IN",
            "-c:a",
            "aac",
            "-b:a",
            "96k",
            "-fflags",
            "+bitexact",
            "OUT",
        ],
    ),
    (
        Kind::Alac,
        "alac.m4a",
        &[
            "ffmpeg",
            "-v",
            "error",
            "-y",
            "-i",
            "IN",
            "-c:a",
            "alac",
            "-fflags",
            "+bitexact",
            "OUT",
        ],
    ),
    (
        Kind::Vorbis,
        "ogg",
        &["oggenc", "-Q", "-q2", "-s1", "-o", "OUT", "IN"],
    ),
    (
        Kind::Opus,
        "opus",
        &[
            "opusenc",
            "--quiet",
            "--serial",
            "1",
            "--bitrate",
            "64",
            "IN",
            "OUT",
        ],
    ),
];

/// Returns the PCM samples of a tone whose pitch changes at random.
pub(crate) fn samples(
    (rate, channels, bits, seconds): (u32, u16, u8, u32),
    index: usize,
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut random = Random::new(index as u64);
    let (mut phase, mut step) = (0.0f64, 440.0 * (1.0 + index as f64 / 7.0));
    for sample in 0..rate * seconds {
        if sample % (rate / 4) == 0 {
            step = (step + random.below(200) as f64 - 90.0).clamp(110.0, 1760.0);
        }
        phase += step / f64::from(rate) * std::f64::consts::TAU;
        let level = phase.sin() * 0.2;
        for channel in 0..channels {
            let level = if channel == 1 { level * 0.7 } else { level };
            match bits {
                24 => {
                    let [b0, b1, b2, _] = ((level * f64::from(1 << 23)) as i32).to_le_bytes();
                    out.extend([b0, b1, b2]);
                }
                _ => out.extend(((level * f64::from(1 << 15)) as i16).to_le_bytes()),
            }
        }
    }
    out
}

fn wave(source: (u32, u16, u8, u32), index: usize) -> Vec<u8> {
    let samples = samples(source, index);
    let (rate, channels, bits, _) = source;
    wav_file(rate, channels, bits, &samples, &[])
}

fn be(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn le(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn flac(file: &[u8]) -> Flac {
    assert!(file.starts_with(b"fLaC"), "not a FLAC file");
    let (mut at, mut last) = (4, false);
    while !last {
        last = file[at] & 0x80 != 0;
        at += 4 + be(&file[at + 1..at + 4]) as usize;
    }
    let info: [u8; 34] = *file[8..]
        .first_chunk()
        .expect("a FLAC file begins with STREAMINFO");
    let word = be(&info[10..18]);
    let mut starts: Vec<usize> = (at..file.len() - 6)
        .filter(|&at| file[at..].starts_with(FLAC_SYNC))
        .collect();
    starts.retain({
        // A sync code can also occur inside audio data. Only at the start of a frame is it followed
        // by the next frame number.
        let mut expected = 0;
        move |&start| {
            let is_next = frame_number(&file[start + 4..]) == expected;
            expected += u64::from(is_next);
            is_next
        }
    });
    let ends = starts.iter().skip(1).copied().chain([file.len()]);
    let frames = starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| file[start..end].to_vec());
    Flac {
        block_samples: be(&info[0..2]),
        sample_rate_hz: (word >> 44) as u32,
        channels: (word >> 41 & 7) as u16 + 1,
        frames: frames.collect(),
        info,
    }
}

/// Decodes a FLAC frame number, whose bytes are coded like a character in UTF-8.
fn frame_number(bytes: &[u8]) -> u64 {
    let first = bytes[0];
    let more = match first.leading_ones() {
        0 => return first.into(),
        ones => ones as usize - 1,
    };
    let head = u64::from(first & (0x7f >> (more + 1)));
    bytes[1..]
        .iter()
        .take(more)
        .fold(head, |number, &byte| number << 6 | u64::from(byte & 0x3f))
}

fn mp3(file: &[u8]) -> Mp3 {
    const KBPS: [[usize; 15]; 2] = [
        [
            0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320,
        ],
        [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    ];
    let (mut at, mut frames) = (0, Vec::new());
    let (mut rate, mut channels, mut samples) = (0, 0, 0);
    while let Some(&[0xff, second, third, fourth]) = file.get(at..).and_then(<[u8]>::first_chunk) {
        let old = second & 8 == 0;
        rate = [44_100, 48_000, 32_000][usize::from(third >> 2 & 3)] / if old { 2 } else { 1 };
        channels = if fourth >> 6 == 3 { 1 } else { 2 };
        samples = if old { 576 } else { 1152 };
        let kbps = KBPS[usize::from(old)][usize::from(third >> 4)];
        let bytes = samples / 8 * kbps * 1000 / rate + usize::from(third >> 1 & 1);
        frames.push(file[at..(at + bytes).min(file.len())].to_vec());
        at += bytes;
    }
    let head = frames.remove(0);
    let lame = head
        .windows(4)
        .position(|word| word == b"LAME")
        .expect("LAME writes this header");
    let added = be(&head[lame + 21..lame + 24]);
    Mp3 {
        head,
        sample_rate_hz: rate as u32,
        channels,
        frame_samples: samples as u64,
        added: (added >> 12) + (added & 0xfff),
        frames,
    }
}

fn boxes(mut bytes: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut boxes = Vec::new();
    while 8 <= bytes.len() {
        let length = be(&bytes[..4]) as usize;
        boxes.push((&bytes[4..8], &bytes[..length]));
        bytes = &bytes[length..];
    }
    boxes
}

fn child<'a>(parent: &'a [u8], kind: &[u8]) -> &'a [u8] {
    let found = boxes(&parent[8..])
        .into_iter()
        .find(|(found, _)| *found == kind);
    found.expect("encoders write this box").1
}

fn mp4(file: &[u8]) -> Mp4 {
    let top = boxes(file);
    let find = |kind: &[u8]| {
        top.iter()
            .find(|(found, _)| *found == kind)
            .expect("encoders write this box")
            .1
    };
    let (moov, mdat) = (find(b"moov"), find(b"mdat"));
    let media = child(child(moov, b"trak"), b"mdia");
    let head = child(media, b"mdhd");
    let (scale, duration) = (be(&head[20..24]), be(&head[24..28]));
    let table = child(child(media, b"minf"), b"stbl");
    let entry = child(table, b"stsd");
    let kept = boxes(&moov[8..])
        .into_iter()
        .filter(|(kind, _)| *kind != b"udta");
    Mp4 {
        moov: kept.map(|(_, bytes)| bytes.to_vec()).collect(),
        mdat: mdat[8..].to_vec(),
        mdat_at: (mdat.as_ptr() as usize - file.as_ptr() as usize + 8) as u64,
        duration_ms: (duration * 1000 + scale / 2) / scale,
        sample_rate_hz: be(&entry[48..50]) as u32,
        channels: aac_channels(entry).unwrap_or(be(&entry[40..42]) as u16),
    }
}

/// Returns the number of channels in the decoder configuration, a descriptor of type 5. The number
/// in the sample entry is not reliable for AAC: it is usually two.
fn aac_channels(entry: &[u8]) -> Option<u16> {
    let esds = entry.windows(4).position(|kind| kind == b"esds")?;
    let settings = entry[esds..]
        .windows(5)
        .find(|head| head.starts_with(&[5, 0x80, 0x80, 0x80]))?;
    let at = settings.as_ptr() as usize - entry.as_ptr() as usize + 5;
    Some(u16::from(entry.get(at + 1)? >> 3 & 15))
}

fn ogg(file: &[u8]) -> Ogg {
    let (mut at, mut pages) = (0, Vec::new());
    while at < file.len() {
        let segments = usize::from(file[at + 26]);
        let lengths = file[at + 27..at + 27 + segments].to_vec();
        let bytes: usize = lengths.iter().map(|&length| usize::from(length)).sum();
        let body = at + 27 + segments;
        pages.push(Page {
            flags: file[at + 5],
            granule: le(&file[at + 6..at + 14]),
            body: file[body..body + bytes].to_vec(),
            lengths,
        });
        at = body + bytes;
    }
    let first = pages.remove(0).body;
    let is_opus = first.starts_with(b"OpusHead");
    let mut packets: Vec<Vec<u8>> = vec![Vec::new()];
    let wanted = if is_opus { 1 } else { 2 };
    while packets.len() <= wanted {
        let page = pages.remove(0);
        let mut rest = &page.body[..];
        for &length in &page.lengths {
            let (part, behind) = rest.split_at(length.into());
            packets.last_mut().expect("started above").extend(part);
            rest = behind;
            if length < 255 {
                packets.push(Vec::new());
            }
        }
    }
    Ogg {
        sample_rate_hz: if is_opus {
            48_000
        } else {
            le(&first[12..16]) as u32
        },
        channels: if is_opus { first[9] } else { first[11] }.into(),
        skip: if is_opus { le(&first[10..12]) } else { 0 },
        setup: (!is_opus).then(|| packets.swap_remove(1)),
        first,
        pages,
    }
}
