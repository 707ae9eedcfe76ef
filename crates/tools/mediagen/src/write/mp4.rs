use super::audio::Audio;
use crate::art::Cover;
use crate::payload::Mp4;
use crate::plan::Song;

const TEXTS: &[(&str, &[u8; 4])] = &[
    ("title", b"\xa9nam"),
    ("artist", b"\xa9ART"),
    ("album", b"\xa9alb"),
    ("albumartist", b"aART"),
    ("date", b"\xa9day"),
    ("genre", b"\xa9gen"),
    ("composer", b"\xa9wrt"),
    ("lyrics", b"\xa9lyr"),
];
const FREE: &[(&str, &str)] = &[
    ("artists", "ARTISTS"),
    ("musicbrainz_albumid", "MusicBrainz Album Id"),
    ("musicbrainz_artistid", "MusicBrainz Artist Id"),
    ("musicbrainz_releasetrackid", "MusicBrainz Release Track Id"),
    ("replaygain_track_gain", "replaygain_track_gain"),
];

fn atom(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 8).to_be_bytes(), &kind[..], body].concat()
}

fn data(kind: u32, value: &[u8]) -> Vec<u8> {
    atom(b"data", &[&kind.to_be_bytes()[..], &[0; 4], value].concat())
}

fn items(song: &Song, cover: Option<&Cover>) -> Vec<u8> {
    let mut names: Vec<&str> = song.fields.iter().map(|(name, _)| *name).collect();
    names.dedup();
    let mut out = Vec::new();
    for name in names {
        let values = song.fields.iter().filter(|(other, _)| *other == name);
        let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
        let texts: Vec<u8> = values
            .iter()
            .flat_map(|value| data(1, value.as_bytes()))
            .collect();
        let pair = |tail: &[u8]| {
            let number: u16 = values[0].parse().expect("the plan writes numbers");
            data(
                0,
                &[&[0, 0][..], &number.to_be_bytes(), &[0, 0], tail].concat(),
            )
        };
        out.extend(match name {
            "tracknumber" => atom(b"trkn", &pair(&[0, 0])),
            "discnumber" => atom(b"disk", &pair(&[])),
            "compilation" => atom(b"cpil", &data(21, &[1])),
            _ => match TEXTS.iter().find(|(field, _)| *field == name) {
                Some((_, kind)) => atom(kind, &texts),
                None => {
                    let free = FREE.iter().find(|(field, _)| *field == name);
                    let free = free.expect("the plan uses no other fields").1;
                    let mean = atom(b"mean", b"\0\0\0\0com.apple.iTunes");
                    let name = atom(b"name", &[&[0; 4], free.as_bytes()].concat());
                    atom(b"----", &[mean, name, texts].concat())
                }
            },
        });
    }
    if let Some(cover) = cover {
        let kind = if cover.is_png { 14 } else { 13 };
        out.extend(atom(b"covr", &data(kind, &cover.bytes)));
    }
    out
}

pub(super) fn write(song: &Song, cover: Option<&Cover>, payloads: &[Mp4]) -> (Vec<u8>, Audio) {
    let mut random = song.random.clone();
    let payload = random.pick(payloads);
    let handler = b"\0\0\0\0\0\0\0\0mdirappl\0\0\0\0\0\0\0\0\0";
    let ilst = atom(b"ilst", &items(song, cover));
    let free = atom(b"free", &vec![0; random.within(0, 2048)]);
    let meta = [&[0; 4][..], &atom(b"hdlr", handler), &ilst, &free].concat();
    let udta = atom(b"udta", &atom(b"meta", &meta));
    let moov = atom(b"moov", &[payload.moov.concat(), udta].concat());
    let head = atom(b"ftyp", b"M4A \0\0\x02\0M4A isomiso2");
    let mdat = atom(b"mdat", &payload.mdat);
    let first = random.percent(70);
    let mdat_at = (head.len() + if first { moov.len() } else { 0 } + 8) as u64;
    let moov = with_shifted_offsets(moov, mdat_at.wrapping_sub(payload.mdat_at));
    let bytes = match first {
        true => [head, moov, mdat].concat(),
        false => [head, mdat, moov].concat(),
    };
    let audio = Audio {
        duration_ms: payload.duration_ms,
        sample_rate_hz: payload.sample_rate_hz,
        channels: payload.channels,
    };
    (bytes, audio)
}

/// Returns the box `moov` with `by` added to every chunk offset in its table `stco`. Layout of the
/// table: 4 bytes flags · count u32 · offsets u32.
fn with_shifted_offsets(mut moov: Vec<u8>, by: u64) -> Vec<u8> {
    let table = moov.windows(4).position(|kind| kind == b"stco");
    let table = table.expect("encoders write this box") + 8;
    let word = |bytes: &[u8]| u32::from_be_bytes(*bytes.first_chunk().expect("four bytes"));
    let count = word(&moov[table..]) as usize;
    for entry in moov[table + 4..][..4 * count].chunks_exact_mut(4) {
        let offset = word(entry).wrapping_add(by as u32);
        entry.copy_from_slice(&offset.to_be_bytes());
    }
    moov
}
