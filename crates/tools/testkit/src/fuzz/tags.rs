//! Fuzz targets for tags of music, and for EXIF.
//!
//! [`tags`] accepts a file of any format. Each of the other targets covers one format and supplies
//! the format's signature, so that the fuzzer need not find the signature. The first byte of the
//! input selects one of the format's signatures; the other bytes follow the signature.

use std::io;

use tags::{Limits, ReadAt, Reader, Splits, Track, read_cover, read_motion, read_photo_metadata};

/// Checks `bytes` as a music file, and as a picture with EXIF.
pub fn tags(bytes: &[u8]) {
    music(bytes);
    picture(bytes);
}

/// Checks FLAC files, with and without an ID3v2 tag at their start.
pub fn tags_flac(bytes: &[u8]) {
    music(&beginning(&[b"fLaC", b"ID3\x04\0\0\0\0\0\0fLaC"], bytes));
}

/// Checks MPEG audio, without a tag and with each of the three versions of ID3v2.
pub fn tags_mp3(bytes: &[u8]) {
    let frame: &[u8] = b"\xff\xfb";
    music(&beginning(
        &[frame, b"ID3\x02", b"ID3\x03", b"ID3\x04"],
        bytes,
    ));
}

/// Checks MP4 and related formats.
pub fn tags_mp4(bytes: &[u8]) {
    music(&beginning(&[b"\0\0\0\x14ftypM4A \0\0\0\0M4A "], bytes));
}

/// Checks Ogg. `bytes` follow the first 14 bytes of a valid page header.
pub fn tags_ogg(bytes: &[u8]) {
    music(&beginning(&[b"OggS\0\x02\0\0\0\0\0\0\0\0"], bytes));
}

/// Checks WAV, RF64, AIFF and AIFF-C.
pub fn tags_riff(bytes: &[u8]) {
    let kinds: [&[u8]; 4] = [
        b"RIFF\xff\xff\xff\x7fWAVE",
        b"RF64\xff\xff\xff\xffWAVE",
        b"FORM\x7f\xff\xff\xffAIFF",
        b"FORM\x7f\xff\xff\xffAIFC",
    ];
    music(&beginning(&kinds, bytes));
}

/// Checks WavPack, Monkey's Audio, Musepack, True Audio, DSF, AAC in ADTS, ASF and Matroska.
pub fn tags_rare(bytes: &[u8]) {
    let kinds: [&[u8]; 9] = [
        b"wvpk",
        b"MAC ",
        b"MP+\x07",
        b"MPCK",
        b"TTA1",
        b"DSD ",
        b"\xff\xf1",
        b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\0\xaa\0\x62\xce\x6c",
        b"\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff",
    ];
    music(&beginning(&kinds, bytes));
}

/// Checks EXIF, XMP and IPTC-IIM in JPEG, PNG, WebP, HEIC, AVIF and TIFF.
pub fn tags_exif(bytes: &[u8]) {
    let kinds: [&[u8]; 6] = [
        b"\xff\xd8\xff",
        b"\x89PNG\r\n\x1a\n",
        b"RIFF\xff\xff\xff\x7fWEBP",
        b"\0\0\0\x10ftypheic\0\0\0\0",
        b"\0\0\0\x10ftypavif\0\0\0\0",
        b"MM\0*",
    ];
    picture(&beginning(&kinds, bytes));
}

/// Returns the signature that the first byte selects, followed by the other bytes.
fn beginning(kinds: &[&[u8]], bytes: &[u8]) -> Vec<u8> {
    let (choice, rest) = bytes.split_first().unwrap_or((&0, &[]));
    [kinds[usize::from(*choice) % kinds.len()], rest].concat()
}

/// Bytes followed by zeros. The zeros stand for audio data, which the tag readers skip. Because of
/// the zeros, more offsets and lengths in the input are within the file.
struct WithZeros<'a> {
    bytes: &'a [u8],
    len: u64,
}

impl ReadAt for WithZeros<'_> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = buf.len().min(left);
        buf[..count].fill(0);
        self.bytes.read_at(offset, &mut buf[..count])?;
        Ok(count)
    }
}

/// Returns two files: one with exactly these bytes, and one with 256 KiB of zeros after them.
fn sources(bytes: &[u8]) -> [WithZeros<'_>; 2] {
    let len = bytes.len() as u64;
    [len, len + (256 << 10)].map(|len| WithZeros { bytes, len })
}

/// Checks that the tag reader stays within its limits, that embedded pictures lie inside the file,
/// and that reading the same bytes again gives the same result.
fn music(bytes: &[u8]) {
    let limits = Limits::default();
    for source in sources(bytes) {
        let mut reader = Reader::new(limits.clone());
        let media = reader.read(&source, source.len);
        let spent = reader.spent();
        assert!(spent.reads <= limits.reads_max && spent.bytes <= limits.read_bytes_max);
        let Ok(media) = media else { continue };
        assert!(media.pictures.len() <= limits.pictures_max);
        for picture in &media.pictures {
            assert!(
                picture.offset + picture.bytes <= source.len,
                "{picture:?} in {} bytes",
                source.len
            );
            if let Ok(cover) = read_cover(&source, source.len, picture, source.len) {
                assert!(cover.len() as u64 <= picture.bytes, "{picture:?}");
            }
        }
        let track = Track::new(&media, b"Artist/Album/01 Title", &Splits::default());
        assert!(!track.title.is_empty() && !track.artist.is_empty());
        let again = reader.read(&source, source.len);
        assert_eq!(media, again.expect("the same bytes can be read again"));
    }
}

/// Checks that latitudes are valid, that places have names within their limits, that a video lies
/// inside the file, and that reading the same bytes again gives the same result.
fn picture(bytes: &[u8]) {
    let limits = Limits::default();
    for source in sources(bytes) {
        if let Ok(Some(video)) = read_motion(&source, source.len, &limits) {
            assert!(
                video.start < video.end && video.end <= source.len,
                "{video:?}"
            );
        }
        let Ok(found) = read_photo_metadata(&source, source.len, &limits) else {
            continue;
        };
        assert!(
            found
                .position
                .is_none_or(|position| position.latitude_e7.abs() <= 900_000_000)
        );
        for place in &found.places {
            assert!(!place.is_empty());
            assert!(place.names().all(|name| (1..=256).contains(&name.len())));
        }
        assert!(found.places.len() <= 8);
        assert_eq!(
            Some(found),
            read_photo_metadata(&source, source.len, &limits).ok()
        );
    }
}
