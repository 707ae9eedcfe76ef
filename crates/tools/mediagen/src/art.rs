//! Pictures for covers. ffmpeg draws a few pictures. Each album gets a copy of one of these
//! pictures. A comment in the file makes the copy unique.

use std::fs;
use std::path::Path;
use std::process::Command;

use toolkit::command::succeed;
use toolkit::stop::{Stop, at};

use crate::random::Random;

/// Pictures that ffmpeg draws. Each row has the file name, the side in pixels, the strength of the
/// noise, and the quality on ffmpeg's scale. The files have 40 KB to 600 KB, except the last one,
/// which has 10 MB, like a scanned cover.
const DRAWN: &[(&str, u32, u32, u32)] = &[
    ("a.jpg", 500, 6, 4),
    ("b.jpg", 600, 12, 3),
    ("c.jpg", 600, 20, 3),
    ("d.jpg", 800, 10, 3),
    ("e.jpg", 1000, 6, 3),
    ("f.jpg", 1000, 14, 3),
    ("g.jpg", 1200, 8, 2),
    ("h.jpg", 1200, 20, 3),
    ("i.png", 300, 0, 0),
    ("j.png", 500, 2, 0),
    ("z.jpg", 3600, 60, 1),
];

/// Pictures for covers and folder art, the large one last.
pub struct Art {
    pictures: Vec<Cover>,
}

/// JPEG or PNG file that can be embedded as a cover.
#[derive(Clone)]
pub struct Cover {
    /// True for PNG, false for JPEG.
    pub is_png: bool,
    /// Bytes of the file.
    pub bytes: Vec<u8>,
}

impl Art {
    /// Draws the pictures that are missing in `folder`, and loads all pictures.
    ///
    /// # Errors
    /// When ffmpeg fails or the disk refuses a write.
    pub fn prepare(folder: &Path) -> Result<Art, Stop> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let mut pictures = Vec::new();
        for (index, &(name, side, noise, quality)) in (1..).zip(DRAWN) {
            let path = folder.join(name);
            if !path.is_file() {
                draw(
                    &path,
                    &format!("gradients=s={side}x{side}:n=6:seed={index}:d=1"),
                    noise,
                    quality,
                )?;
            }
            pictures.push(Cover {
                is_png: name.ends_with("png"),
                bytes: fs::read(&path).map_err(at(&path))?,
            });
        }
        Ok(Art { pictures })
    }

    /// Returns an [`Art`] with these pictures, for callers without ffmpeg. The last picture is the
    /// large one.
    pub fn from_pictures(pictures: Vec<Cover>) -> Art {
        Art { pictures }
    }

    /// Returns the large picture if `large` is true, and otherwise a random one of the other
    /// pictures. A random comment makes the bytes of the returned picture unique.
    pub(crate) fn cover(&self, random: &mut Random, large: bool) -> Cover {
        let usual = self.pictures.len() - 1;
        let picture = if large { usual } else { random.below(usual) };
        let Cover { is_png, bytes } = &self.pictures[picture];
        let remark = format!("{:016x}", random.next());
        let bytes = match is_png {
            // In a PNG, the comment follows the chunk IHDR, which always ends at byte 33. In a
            // JPEG, it follows the 2-byte start marker, as a segment FF FE of length 18.
            true => splice(bytes, 33, &text_chunk(remark.as_bytes())),
            false => splice(
                bytes,
                2,
                &[&[0xff, 0xfe, 0, 18][..], remark.as_bytes()].concat(),
            ),
        };
        Cover {
            is_png: *is_png,
            bytes,
        }
    }
}

fn splice(bytes: &[u8], at: usize, part: &[u8]) -> Vec<u8> {
    [&bytes[..at], part, &bytes[at..]].concat()
}

fn text_chunk(text: &[u8]) -> Vec<u8> {
    let content = [&b"tEXtComment\0"[..], text].concat();
    let length = (content.len() - 4) as u32;
    let crc = content.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            if crc & 1 == 1 {
                crc >> 1 ^ 0xedb8_8320
            } else {
                crc >> 1
            }
        })
    });
    [&length.to_be_bytes()[..], &content, &(!crc).to_be_bytes()].concat()
}

fn draw(path: &Path, source: &str, noise: u32, quality: u32) -> Result<(), Stop> {
    let partial = path.with_extension(format!(
        "partial.{}",
        path.extension().unwrap_or_default().to_string_lossy()
    ));
    let mut ffmpeg = Command::new("ffmpeg");
    ffmpeg.args([
        "-v",
        "error",
        "-y",
        "-f",
        "lavfi",
        "-i",
        source,
        "-frames:v",
        "1",
    ]);
    ffmpeg.args([
        "-vf",
        &format!("format=yuv444p,noise=alls={noise}:all_seed=1,format=yuvj420p"),
    ]);
    if quality != 0 {
        ffmpeg.args(["-q:v", &quality.to_string()]);
    }
    succeed(ffmpeg.arg(&partial)).map_err(Stop::on_host)?;
    fs::rename(&partial, path).map_err(at(path))
}

impl Cover {
    pub(crate) fn mime(&self) -> &'static str {
        if self.is_png {
            "image/png"
        } else {
            "image/jpeg"
        }
    }

    /// Returns the body of a FLAC picture block: kind, MIME type, description, sizes (unknown),
    /// length, picture.
    pub(crate) fn block(&self) -> Vec<u8> {
        let mime = self.mime();
        let mut out = 3u32.to_be_bytes().to_vec();
        out.extend((mime.len() as u32).to_be_bytes());
        out.extend(mime.as_bytes());
        out.extend([0; 20]);
        out.extend((self.bytes.len() as u32).to_be_bytes());
        out.extend(&self.bytes);
        out
    }
}
