//! Heads of answers in the words of a protocol. What an answer says is decided once, in [`crate::answer`]; here the wire
//! formats meet.

use http1::{Connection, Head, date::DATE_BYTES};

use crate::answer::{Answer, Fields};

impl Answer {
    /// Appends the head as HTTP/1.1 has it.
    pub(crate) fn write_head(
        &self,
        out: &mut Vec<u8>,
        date: &[u8; DATE_BYTES],
        connection: Connection,
    ) {
        match &self.fields {
            Fields::Whole(representation) => representation.write_whole(out, date, connection),
            Fields::Part(representation, start, end) => {
                representation.write_part(out, date, connection, (*start, *end));
            }
            Fields::NotModified(representation) => {
                representation.write_not_modified(out, date, connection);
            }
            Fields::Listed(fields) => {
                let begun = Head::begin(out, self.status).date(date);
                fields
                    .iter()
                    .fold(begun, |head, (name, value)| head.field(name, &**value))
                    .finish(connection);
            }
        }
    }
}
