//! Sources of function libraries: their place in snapshots, the journal, and FUNCTION DUMP. The
//! crate `store` runs the code.

use bytes::Bytes;

use super::{Journal, Keyspace};
use crate::commands::dump::{body, seal};
use crate::rdb::{Cursor, STRING_TOO_LONG, Stop, Writer, opcode};

const TOO_MUCH_CODE: &str = "ERR too much code in libraries, remove libraries with FUNCTION DELETE";

impl Keyspace {
    /// Returns the sources of the function libraries.
    #[must_use]
    pub fn functions(&self) -> &[Bytes] {
        &self.functions
    }

    /// Replaces the sources of the function libraries. The change is not journaled.
    pub fn set_functions(&mut self, sources: Vec<Bytes>) {
        self.functions = sources;
    }

    /// Records a command that has changed the function libraries, for the journal and the next
    /// snapshot. `db` is the client's database.
    pub fn note_function_change(&mut self, db: usize, args: &[Bytes]) {
        self.commit(db, 1, Journal::AsIs(args));
    }

    /// Returns the function libraries as the payload of FUNCTION DUMP.
    #[must_use]
    pub fn dump_functions(&self) -> Bytes {
        let mut payload = Vec::new();
        let mut writer = Writer::new(&mut payload, true);
        for source in &self.functions {
            writer.byte(opcode::FUNCTION);
            writer.string(source);
        }
        seal(payload)
    }

    /// Returns the sources of the function libraries in a payload of FUNCTION DUMP. No more than
    /// `bytes_max` bytes are decompressed.
    ///
    /// # Errors
    /// The error reply for a payload that is damaged, that is not of this kind, or whose libraries
    /// exceed `bytes_max`.
    pub fn functions_of_payload(
        payload: &[u8],
        bytes_max: usize,
    ) -> Result<Vec<Bytes>, &'static str> {
        let body = body(payload).ok_or("ERR DUMP payload version or checksum are wrong")?;
        let mut cursor = Cursor::new(body);
        let mut sources = Vec::new();
        let mut free_bytes = bytes_max;
        while cursor.at < body.len() {
            match cursor.byte() {
                Ok(opcode::FUNCTION) => {}
                Ok(opcode::FUNCTION_OLD) => {
                    return Err("ERR Pre-GA function format not supported");
                }
                _ => return Err("ERR given type is not a function"),
            }
            let source = cursor.string(free_bytes).map_err(|stop| match stop {
                Stop::Bad(STRING_TOO_LONG) => TOO_MUCH_CODE,
                _ => "ERR failed loading the given functions payload",
            })?;
            let source = source.into_bytes();
            // An empty source counts, too, since its element of the vector needs memory.
            let bytes = source.len() + size_of::<Bytes>();
            free_bytes = free_bytes.checked_sub(bytes).ok_or(TOO_MUCH_CODE)?;
            sources.push(source);
        }
        Ok(sources)
    }
}
