//! Manifest of the AOF's files: one line `file NAME seq N type b|i|h` per file (base, increment or
//! history), as Redis 7 writes it.

use std::fmt::Write;

use crate::text::quote;

/// Maximum length of a line, without the line end. Redis rejects longer lines.
const LINE_BYTES_MAX: usize = 1023;

/// List of the AOF's files: a base, the increments since that base, and the history, which consists
/// of obsolete files that still exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) base: Option<Listed>,
    /// Increments in the order of their replay.
    pub(crate) increments: Vec<Listed>,
    pub(crate) history: Vec<Listed>,
}

/// One file of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Name within the AOF's directory.
    pub(crate) name: String,
    pub(crate) seq: u64,
}

impl Manifest {
    /// Parses the text of a manifest.
    pub(crate) fn parse(text: &str) -> Result<Manifest, String> {
        let mut manifest = Manifest::default();
        for (index, line) in text.lines().enumerate() {
            let fault = |what: &str| format!("line {}: {what}", index + 1);
            if LINE_BYTES_MAX < line.len() {
                return Err(fault("the line of the manifest is too long"));
            }
            if line.starts_with('#') {
                continue;
            }
            if line.trim().is_empty() {
                return Err(fault("the line of the manifest is empty"));
            }
            let words =
                resp::split_line(line.as_bytes()).ok_or_else(|| fault("unbalanced quotes"))?;
            let (listed, kind) = read_line(&words).map_err(fault)?;
            match kind {
                b'b' if manifest.base.is_none() => manifest.base = Some(listed),
                b'b' => return Err(fault("the manifest lists a second base file")),
                b'h' => manifest.history.push(listed),
                b'i' => {
                    if manifest
                        .increments
                        .last()
                        .is_some_and(|last| listed.seq <= last.seq)
                    {
                        return Err(fault(
                            "the sequence numbers of the incremental files do not ascend",
                        ));
                    }
                    manifest.increments.push(listed);
                }
                _ => return Err(fault("the type of the file is unknown, expected b, i or h")),
            }
        }
        match manifest == Manifest::default() {
            // An empty manifest is an error. Otherwise the server would start a new AOF, and the
            // data of the existing files would be missing.
            true => Err("the manifest lists no file".to_owned()),
            false => Ok(manifest),
        }
    }

    /// Returns the text of the manifest.
    pub(crate) fn print(&self) -> String {
        let mut text = String::new();
        let kinds = [
            (self.base.as_slice(), 'b'),
            (&self.history, 'h'),
            (&self.increments, 'i'),
        ];
        for (files, kind) in kinds {
            for Listed { name, seq } in files {
                text.push_str("file ");
                match name.bytes().all(is_plain) {
                    true => text.push_str(name),
                    false => quote(name.as_bytes(), &mut text),
                }
                writeln!(text, " seq {seq} type {kind}").expect("writing to a string cannot fail");
            }
        }
        text
    }

    /// Returns a new increment, whose number follows that of the last increment.
    pub(crate) fn next_increment(&self, stem: &str) -> Listed {
        let seq = self.increments.last().map_or(0, |last| last.seq) + 1;
        Listed {
            name: format!("{stem}.{seq}.incr.aof"),
            seq,
        }
    }

    /// Returns a new base, whose number follows that of the current base.
    pub(crate) fn next_base(&self, stem: &str) -> Listed {
        let seq = self.base.as_ref().map_or(0, |base| base.seq) + 1;
        Listed {
            name: format!("{stem}.{seq}.base.rdb"),
            seq,
        }
    }
}

/// Returns whether a name may contain this byte without being quoted.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\')
}

fn read_line(words: &[bytes::Bytes]) -> Result<(Listed, u8), &'static str> {
    let (mut name, mut seq, mut kind) = (None, None, None);
    for pair in words.chunks(2) {
        let [key, value] = pair else {
            return Err("a key of the manifest has no value");
        };
        match &key[..] {
            b"file" => name = Some(String::from_utf8_lossy(value).into_owned()),
            b"seq" => seq = resp::parse_int(value).and_then(|seq| u64::try_from(seq).ok()),
            b"type" => kind = value.first().copied(),
            // Unknown keys of later versions are ignored.
            _ => {}
        }
    }
    let (Some(name), Some(seq), Some(kind)) = (name, seq, kind) else {
        return Err("the file, seq or type field is missing");
    };
    match name.contains('/') || name.is_empty() {
        true => Err("the name of the file is empty or contains a slash"),
        false => Ok((Listed { name, seq }, kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_of_redis_round_trips() {
        let text = "file appendonly.aof.2.base.rdb seq 2 type b\nfile a.1.incr.aof seq 1 type h\n\
                    file appendonly.aof.3.incr.aof seq 3 type i\nfile \"b c\" seq 4 type i\n\
                    file \" \\n\\\"\" seq 5 type i\n";
        let manifest = Manifest::parse(text).expect("sound");
        assert_eq!(manifest.print(), text);
        assert_eq!(manifest.next_base("x").name, "x.3.base.rdb");
        assert_eq!(manifest.next_increment("x").name, "x.6.incr.aof");
        assert_eq!(Manifest::default().next_increment("x").name, "x.1.incr.aof");
    }

    #[test]
    fn an_invalid_manifest_is_refused_with_the_line() {
        let fault = |text| Manifest::parse(text).expect_err("refused");
        assert_eq!(
            fault("# c\nfile a seq 1\n"),
            "line 2: the file, seq or type field is missing"
        );
        assert_eq!(
            fault("file a seq 1 type b\n \n"),
            "line 2: the line of the manifest is empty"
        );
        let long = format!("file {} seq 1 type b\n", "a".repeat(1_023 - 18));
        assert_eq!(Manifest::parse(&long).map(|it| it.base.is_some()), Ok(true));
        let too_long = format!("file {} seq 1 type b\n", "a".repeat(1_024 - 18));
        assert_eq!(
            Manifest::parse(&too_long),
            Err("line 1: the line of the manifest is too long".to_owned())
        );
        assert_eq!(
            fault("file a seq x type b"),
            "line 1: the file, seq or type field is missing"
        );
        assert_eq!(
            fault("file ../a seq 1 type b"),
            "line 1: the name of the file is empty or contains a slash"
        );
        assert_eq!(
            fault("file a seq 1 type z"),
            "line 1: the type of the file is unknown, expected b, i or h"
        );
        assert_eq!(
            fault("file a seq 2 type i\nfile b seq 2 type i"),
            "line 2: the sequence numbers of the incremental files do not ascend"
        );
        assert_eq!(
            fault("file a seq 1 type b\nfile b seq 2 type b"),
            "line 2: the manifest lists a second base file"
        );
    }
}
