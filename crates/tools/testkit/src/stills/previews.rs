//! Writers of HEIC and camera raw files with embedded JPEG previews. Sensor data and HEVC are
//! missing, because no reader of previews needs them.

/// Grey JPEG of 21 × 13 pixels without metadata.
const JPEG: [u8; 187] = *b"\
\xff\xd8\xff\xe0\x00\x10\x4a\x46\x49\x46\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xdb\x00\x43\
\x00\x0d\x09\x0a\x0b\x0a\x08\x0d\x0b\x0a\x0b\x0e\x0e\x0d\x0f\x13\x20\x15\x13\x12\x12\x13\x27\x1c\
\x1e\x17\x20\x2e\x29\x31\x30\x2e\x29\x2d\x2c\x33\x3a\x4a\x3e\x33\x36\x46\x37\x2c\x2d\x40\x57\x41\
\x46\x4c\x4e\x52\x53\x52\x32\x3e\x5a\x61\x5a\x50\x60\x4a\x51\x52\x4f\xff\xc0\x00\x0b\x08\x00\x0d\
\x00\x15\x01\x01\x11\x00\xff\xc4\x00\x16\x00\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\
\x00\x00\x00\x00\x06\x07\xff\xc4\x00\x1a\x10\x00\x01\x05\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\
\x00\x00\x00\x00\x04\x15\x16\x51\xa1\x63\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x9e\x8c\x73\xc1\
\x18\xe7\x82\x31\xcf\x0d\x7d\xa1\x35\x60\x68\x4d\x58\x1a\x13\x56\x1f\xff\xd9";

/// Grey JPEG of 8 × 8 pixels without metadata.
const SMALL_JPEG: [u8; 159] = *b"\
\xff\xd8\xff\xe0\x00\x10\x4a\x46\x49\x46\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xdb\x00\x43\
\x00\x1b\x12\x14\x17\x14\x11\x1b\x17\x16\x17\x1e\x1c\x1b\x20\x28\x42\x2b\x28\x25\x25\x28\x51\x3a\
\x3d\x30\x42\x60\x55\x65\x64\x5f\x55\x5d\x5b\x6a\x78\x99\x81\x6a\x71\x90\x73\x5b\x5d\x85\xb5\x86\
\x90\x9e\xa3\xab\xad\xab\x67\x80\xbc\xc9\xba\xa6\xc7\x99\xa8\xab\xa4\xff\xc0\x00\x0b\x08\x00\x08\
\x00\x08\x01\x01\x11\x00\xff\xc4\x00\x14\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\
\x00\x00\x00\x00\xff\xc4\x00\x14\x10\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\
\x00\x00\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x3f\xff\xd9";

const SHORT: u16 = 3;
const LONG: u16 = 4;
const UNDEFINED: u16 = 7;

/// Entry of a directory: tag, type, number of values, and value or its offset.
type Entry = (u16, u16, u32, u32);

/// Writer of files with the structure of a TIFF. Every part is appended.
struct Writer {
    is_big_endian: bool,
    bytes: Vec<u8>,
}

impl Writer {
    fn new(magic: &[u8; 4]) -> Writer {
        Writer {
            is_big_endian: magic[0] == b'M',
            // The offset of the first directory follows, and in CR2 a mark.
            bytes: [&magic[..], &[0; 12]].concat(),
        }
    }

    /// Appends `part` and returns its offset.
    fn put(&mut self, part: &[u8]) -> u32 {
        let at = self.bytes.len() as u32;
        self.bytes.extend(part);
        at
    }

    fn u16(&self, value: u16) -> [u8; 2] {
        match self.is_big_endian {
            true => value.to_be_bytes(),
            false => value.to_le_bytes(),
        }
    }

    fn u32(&self, value: u32) -> [u8; 4] {
        match self.is_big_endian {
            true => value.to_be_bytes(),
            false => value.to_le_bytes(),
        }
    }

    /// Returns a directory whose successor is at the offset `next`.
    fn directory(&self, entries: &[Entry], next: u32) -> Vec<u8> {
        let mut bytes = self.u16(entries.len() as u16).to_vec();
        for (tag, kind, count, value) in entries {
            bytes.extend(self.u16(*tag));
            bytes.extend(self.u16(*kind));
            bytes.extend(self.u32(*count));
            match (*kind, *count) {
                (SHORT, 1) => bytes.extend([self.u16(*value as u16), [0; 2]].concat()),
                _ => bytes.extend(self.u32(*value)),
            }
        }
        bytes.extend(self.u32(next));
        bytes
    }

    fn put_directory(&mut self, entries: &[Entry], next: u32) -> u32 {
        let bytes = self.directory(entries, next);
        self.put(&bytes)
    }

    /// Returns the file. Its first directory is at the offset `at`.
    fn finish(mut self, at: u32) -> Vec<u8> {
        let at = self.u32(at);
        self.bytes[4..8].copy_from_slice(&at);
        self.bytes
    }
}

const fn long(tag: u16, value: u32) -> Entry {
    (tag, LONG, 1, value)
}

const fn short(tag: u16, value: u16) -> Entry {
    (tag, SHORT, 1, value as u32)
}

/// Returns the entries of a strip at the offset `at` that contains `jpeg`.
const fn strip(at: u32, jpeg: &[u8]) -> [Entry; 2] {
    [long(273, at), long(279, jpeg.len() as u32)]
}

/// Returns the entries 513 and 514, which state the place of `jpeg` at the offset `at`.
const fn old_jpeg(at: u32, jpeg: &[u8]) -> [Entry; 2] {
    [long(513, at), long(514, jpeg.len() as u32)]
}

/// Returns a raw file of each format, with the usual extension. The largest preview has the size of
/// the pictures of [`super::all`]. CR2 and HEIC state a rotation by 90°.
pub(super) fn samples() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("cr2", cr2()),
        ("nef", nef()),
        ("arw", arw()),
        ("dng", dng()),
        ("orf", orf()),
        ("rw2", rw2()),
        ("raf", raf()),
        ("cr3", cr3()),
        ("heic", heic()),
    ]
}

fn cr2() -> Vec<u8> {
    let mut file = Writer::new(b"II*\0");
    file.bytes[8..12].copy_from_slice(b"CR\x02\0");
    let (large, small) = (file.put(&JPEG), file.put(&SMALL_JPEG));
    let thumbnail = file.put_directory(&old_jpeg(small, &SMALL_JPEG), 0);
    let [offset, length] = strip(large, &JPEG);
    let first = [short(259, 6), offset, short(274, 6), length];
    let first = file.put_directory(&first, thumbnail);
    file.finish(first)
}

/// Returns a big-endian file with two SubIFDs, of which one has the preview.
fn nef() -> Vec<u8> {
    let mut file = Writer::new(b"MM\0*");
    let (large, small) = (file.put(&JPEG), file.put(&SMALL_JPEG));
    let sensor = file.put(&[9; 40]);
    let preview = file.put_directory(&old_jpeg(large, &JPEG), 0);
    let raw = file.put_directory(&strip(sensor, &[9; 40]), 0);
    let list = [file.u32(raw), file.u32(preview)].concat();
    let list = file.put(&list);
    let make = file.put(b"NIKON\0");
    let [offset, length] = strip(small, &SMALL_JPEG);
    let first = [
        long(254, 1),
        (271, 2, 6, make),
        offset,
        length,
        (330, LONG, 2, list),
    ];
    let first = file.put_directory(&first, 0);
    file.finish(first)
}

fn arw() -> Vec<u8> {
    let mut file = Writer::new(b"II*\0");
    let large = file.put(&JPEG);
    let sensor = file.put(&[9; 40]);
    let raw = file.put_directory(&strip(sensor, &[9; 40]), 0);
    let make = file.put(b"SONY\0");
    let [offset, length] = old_jpeg(large, &JPEG);
    let first = [
        long(254, 1),
        (271, 2, 5, make),
        long(330, raw),
        offset,
        length,
    ];
    let first = file.put_directory(&first, 0);
    file.finish(first)
}

fn dng() -> Vec<u8> {
    let mut file = Writer::new(b"II*\0");
    let (large, small) = (file.put(&JPEG), file.put(&SMALL_JPEG));
    let [offset, length] = strip(large, &JPEG);
    let preview = file.put_directory(&[long(254, 1), short(259, 7), offset, length], 0);
    let [offset, length] = strip(small, &SMALL_JPEG);
    let first = [
        long(254, 1),
        short(259, 7),
        offset,
        length,
        long(330, preview),
        (50_706, 1, 4, 0x0000_0401),
    ];
    let first = file.put_directory(&first, 0);
    file.finish(first)
}

/// Returns a file whose preview is in the maker note. The offset of the preview is relative to the
/// note.
fn orf() -> Vec<u8> {
    let mut file = Writer::new(b"IIRO");
    let mut note = b"OLYMPUS\0II\x03\0".to_vec();
    // A directory of one entry, another of two entries, and the preview follow.
    let settings = 12 + 18;
    let preview = settings + 30;
    note.extend(file.directory(&[long(0x2020, settings)], 0));
    let [start, length] = [long(0x101, preview), long(0x102, JPEG.len() as u32)];
    note.extend(file.directory(&[start, length], 0));
    note.extend(JPEG);
    let at = file.put(&note);
    let exif = file.put_directory(&[(37_500, UNDEFINED, note.len() as u32, at)], 0);
    let first = file.put_directory(&[long(34_665, exif)], 0);
    file.finish(first)
}

fn rw2() -> Vec<u8> {
    let mut file = Writer::new(b"IIU\0");
    let large = file.put(&JPEG);
    let first = file.put_directory(&[(46, UNDEFINED, JPEG.len() as u32, large)], 0);
    file.finish(first)
}

fn raf() -> Vec<u8> {
    let mut file = b"FUJIFILMCCD-RAW 0201FF393101".to_vec();
    file.resize(84, 0);
    file.extend(100_u32.to_be_bytes());
    file.extend((JPEG.len() as u32).to_be_bytes());
    file.resize(100, 0);
    file.extend(JPEG);
    file
}

/// Returns a box with `content`.
fn iso(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let size = 8 + content.len() as u32;
    [&size.to_be_bytes()[..], kind, content].concat()
}

/// Returns a CR3 whose large preview is a track, and whose small preview is in a `PRVW` box.
fn cr3() -> Vec<u8> {
    const PREVIEW: [u8; 16] = *b"\xea\xf4\x2b\x5e\x1c\x98\x4b\x88\xb9\xfb\xb7\xdc\x40\x6e\x4d\x16";
    let head = iso(b"ftyp", b"crx \0\0\0\x01crx isom");
    let movie = |offset: u64| {
        let length = (JPEG.len() as u32).to_be_bytes();
        let sizes = iso(b"stsz", &[&[0; 8][..], &[0, 0, 0, 1], &length].concat());
        let offsets = [&[0, 0, 0, 0, 0, 0, 0, 1][..], &offset.to_be_bytes()].concat();
        let table = iso(b"stbl", &[sizes, iso(b"co64", &offsets)].concat());
        let media = iso(b"mdia", &iso(b"minf", &table));
        iso(b"moov", &iso(b"trak", &media))
    };
    let small = iso(b"PRVW", &[&[0; 16][..], &SMALL_JPEG].concat());
    let small = iso(b"uuid", &[&PREVIEW[..], &[0; 8], &small].concat());
    let data_at = head.len() + movie(0).len() + small.len() + 8;
    [head, movie(data_at as u64), small, iso(b"mdat", &JPEG)].concat()
}

/// Returns a HEIC of 640 × 480 pixels with a JPEG item as its thumbnail.
fn heic() -> Vec<u8> {
    let head = iso(b"ftyp", b"heic\0\0\0\0mif1heic");
    let item = |id: u8, kind: &[u8; 4]| {
        iso(
            b"infe",
            &[&[2, 0, 0, 0, 0, id, 0, 0][..], kind, &[0]].concat(),
        )
    };
    let meta = |offset: u32| {
        let items = [
            &[0, 0, 0, 0, 0, 2][..],
            &item(1, b"hvc1"),
            &item(2, b"jpeg"),
        ]
        .concat();
        let mut places = vec![1, 0, 0, 0, 0x44, 0, 0, 2];
        for (id, length) in [(1, 9), (2, JPEG.len() as u32)] {
            places.extend([0, id, 0, 0, 0, 0, 0, 1]);
            places.extend(offset.to_be_bytes());
            places.extend(length.to_be_bytes());
        }
        let size = [&[0; 4][..], &640_u32.to_be_bytes(), &480_u32.to_be_bytes()].concat();
        let properties = [iso(b"ispe", &size), iso(b"irot", &[3])].concat();
        // Both items are rotated.
        let uses = [0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 2, 1, 2, 0, 2, 1, 2];
        let properties = [iso(b"ipco", &properties), iso(b"ipma", &uses)].concat();
        let parts = [
            vec![0; 4],
            iso(b"pitm", &[0, 0, 0, 0, 0, 1]),
            iso(b"iinf", &items),
            iso(b"iloc", &places),
            iso(b"iprp", &properties),
        ];
        iso(b"meta", &parts.concat())
    };
    let data_at = head.len() + meta(0).len() + 8;
    [head, meta(data_at as u32), iso(b"mdat", &JPEG)].concat()
}
