//! Reader of the `moov` box of an MP4 file. [`audio_plan::packets`] parses the tables in the box.

use std::io::{Read, Seek, SeekFrom};

use crate::error::Error;

/// Maximum size of the `moov` box of a file in bytes. The box contains the table of packets; ten
/// hours of music need 4 MB.
pub const MOOV_BYTES_MAX: u64 = 64 << 20;

/// Maximum number of top-level boxes that are examined to find `moov`.
const BOXES_MAX: usize = 4_096;

/// Returns the content of the `moov` box of a file.
pub(crate) fn moov(file: &mut (impl Read + Seek)) -> Result<Vec<u8>, Error> {
    let end = file.seek(SeekFrom::End(0)).map_err(Error::undecodable)?;
    let mut at = 0;
    for _ in 0..BOXES_MAX {
        file.seek(SeekFrom::Start(at)).map_err(Error::undecodable)?;
        let mut head = [0; 16];
        file.read_exact(&mut head[..8])
            .map_err(Error::undecodable)?;
        let (mut size, mut head_bytes) = (u64::from(u32_at(&head, 0)), 8);
        if size == 1 {
            file.read_exact(&mut head[8..])
                .map_err(Error::undecodable)?;
            size = u64::from(u32_at(&head, 8)) << 32 | u64::from(u32_at(&head, 12));
            head_bytes = 16;
        }
        if size == 0 {
            size = end - at;
        }
        let box_end = at.checked_add(size).filter(|box_end| *box_end <= end);
        let (Some(box_end), Some(body)) = (box_end, size.checked_sub(head_bytes)) else {
            return Err(malformed("a box is longer than the file"));
        };
        if &head[4..8] == b"moov" {
            if MOOV_BYTES_MAX < body {
                return Err(malformed("the moov box is too large"));
            }
            let mut moov = vec![0; body as usize];
            file.read_exact(&mut moov).map_err(Error::undecodable)?;
            return Ok(moov);
        }
        at = box_end;
    }
    Err(malformed("no moov box"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes[at..].first_chunk();
    u32::from_be_bytes(*field.expect("the field lies within a box's head"))
}

fn malformed(why: &str) -> Error {
    Error::undecodable(format!("MP4: {why}"))
}
