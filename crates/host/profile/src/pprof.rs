//! The profile as gzip-compressed protobuf, which `go tool pprof` and continuous profilers read.
//!
//! The format is `profile.proto` of google/pprof. Only the fields that are written here have a name
//! in [`field`]; a field's number is followed by its type in that file.

use std::collections::HashMap;
use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use wall_clock::since_1970;

use crate::profile::{Image, Profile};

/// Numbers of fields in `profile.proto`.
mod field {
    /// `message Profile`.
    pub(super) mod profile {
        pub(in super::super) const SAMPLE_TYPE: u64 = 1;
        pub(in super::super) const SAMPLE: u64 = 2;
        pub(in super::super) const MAPPING: u64 = 3;
        pub(in super::super) const LOCATION: u64 = 4;
        pub(in super::super) const FUNCTION: u64 = 5;
        pub(in super::super) const STRING_TABLE: u64 = 6;
        pub(in super::super) const TIME_NANOS: u64 = 9;
        pub(in super::super) const DURATION_NANOS: u64 = 10;
        pub(in super::super) const PERIOD_TYPE: u64 = 11;
        pub(in super::super) const PERIOD: u64 = 12;
    }
    /// `message ValueType`: strings.
    pub(super) mod value_type {
        pub(in super::super) const TYPE: u64 = 1;
        pub(in super::super) const UNIT: u64 = 2;
    }
    /// `message Sample`.
    pub(super) mod sample {
        pub(in super::super) const LOCATION_ID: u64 = 1;
        pub(in super::super) const VALUE: u64 = 2;
        pub(in super::super) const LABEL: u64 = 3;
    }
    /// `message Label`: strings.
    pub(super) mod label {
        pub(in super::super) const KEY: u64 = 1;
        pub(in super::super) const STR: u64 = 2;
    }
    /// `message Mapping`.
    pub(super) mod mapping {
        pub(in super::super) const ID: u64 = 1;
        pub(in super::super) const MEMORY_START: u64 = 2;
        pub(in super::super) const MEMORY_LIMIT: u64 = 3;
        pub(in super::super) const FILENAME: u64 = 5;
        pub(in super::super) const BUILD_ID: u64 = 6;
        pub(in super::super) const HAS_FUNCTIONS: u64 = 7;
    }
    /// `message Location`.
    pub(super) mod location {
        pub(in super::super) const ID: u64 = 1;
        pub(in super::super) const MAPPING_ID: u64 = 2;
        pub(in super::super) const ADDRESS: u64 = 3;
        pub(in super::super) const LINE: u64 = 4;
    }
    /// `message Line`.
    pub(super) mod line {
        pub(in super::super) const FUNCTION_ID: u64 = 1;
    }
    /// `message Function`.
    pub(super) mod function {
        pub(in super::super) const ID: u64 = 1;
        pub(in super::super) const NAME: u64 = 2;
        pub(in super::super) const SYSTEM_NAME: u64 = 3;
    }
}

/// Space between the addresses of two images: each image has its own range in a profile, because
/// the programs of several processes overlap in memory.
const IMAGE_SPAN: u64 = 1 << 40;

/// Returns the profile as gzip-compressed protobuf. Each sample has the label `process` with the
/// value `server` or `workers`.
///
/// # Errors
/// Never in practice: a vector takes all bytes.
pub(crate) fn pprof(profile: &Profile) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&encode(profile))?;
    gzip.finish()
}

fn encode(profile: &Profile) -> Vec<u8> {
    let mut strings = Strings::default();
    let mut out = Message::default();
    let period = 1_000_000_000 / profile.frequency_hz;
    let cpu = value_type(&mut strings, "cpu", "nanoseconds");
    out.message(
        field::profile::SAMPLE_TYPE,
        &value_type(&mut strings, "samples", "count"),
    );
    out.message(field::profile::SAMPLE_TYPE, &cpu);
    for stack in &profile.stacks {
        let mut sample = Message::default();
        let ids = stack.frames.iter().map(|index| *index as u64 + 1);
        sample.packed(field::sample::LOCATION_ID, ids);
        sample.packed(field::sample::VALUE, [stack.count, stack.count * period]);
        let mut label = Message::default();
        label.number(field::label::KEY, strings.index("process"));
        label.number(field::label::STR, strings.index(stack.group.name()));
        sample.message(field::sample::LABEL, &label);
        out.message(field::profile::SAMPLE, &sample);
    }
    for (index, image) in in_order(profile) {
        let mut mapping = Message::default();
        mapping.number(field::mapping::ID, index + 1);
        mapping.number(field::mapping::MEMORY_START, index * IMAGE_SPAN);
        mapping.number(field::mapping::MEMORY_LIMIT, (index + 1) * IMAGE_SPAN);
        mapping.number(field::mapping::FILENAME, strings.index(&image.name));
        mapping.number(field::mapping::BUILD_ID, strings.index(&image.build_id));
        // The names here are final: pprof must not look for the files.
        mapping.number(field::mapping::HAS_FUNCTIONS, 1);
        out.message(field::profile::MAPPING, &mapping);
    }
    let mut functions: HashMap<&str, u64> = HashMap::new();
    for (index, place) in (1..).zip(&profile.places) {
        let next = functions.len() as u64 + 1;
        let function = *functions.entry(&place.function).or_insert(next);
        if function == next {
            let name = strings.index(&place.function);
            let mut message = Message::default();
            message.number(field::function::ID, function);
            message.number(field::function::NAME, name);
            message.number(field::function::SYSTEM_NAME, name);
            out.message(field::profile::FUNCTION, &message);
        }
        let image = place.image as u64;
        let address = image * IMAGE_SPAN + place.address % IMAGE_SPAN;
        let mut line = Message::default();
        line.number(field::line::FUNCTION_ID, function);
        let mut location = Message::default();
        location.number(field::location::ID, index);
        location.number(field::location::MAPPING_ID, image + 1);
        location.number(field::location::ADDRESS, address);
        location.message(field::location::LINE, &line);
        out.message(field::profile::LOCATION, &location);
    }
    // A clock that is set before 1970 gives a profile without a time.
    let begin = since_1970(profile.begin).as_nanos() as u64;
    out.number(field::profile::TIME_NANOS, begin);
    out.number(
        field::profile::DURATION_NANOS,
        profile.duration.as_nanos() as u64,
    );
    out.message(field::profile::PERIOD_TYPE, &cpu);
    out.number(field::profile::PERIOD, period);
    for string in &strings.list {
        out.bytes(field::profile::STRING_TABLE, string.as_bytes());
    }
    out.0
}

/// Returns the images with their indexes, the server's program first: pprof shows the file of the
/// first mapping as the program that was profiled.
fn in_order(profile: &Profile) -> impl Iterator<Item = (u64, &Image)> {
    let is_program = |index: u64| profile.program.is_some_and(|it| it as u64 == index);
    let images = || (0..).zip(&profile.images);
    let program = images().filter(move |(index, _)| is_program(*index));
    program.chain(images().filter(move |(index, _)| !is_program(*index)))
}

fn value_type(strings: &mut Strings, kind: &str, unit: &str) -> Message {
    let mut message = Message::default();
    message.number(field::value_type::TYPE, strings.index(kind));
    message.number(field::value_type::UNIT, strings.index(unit));
    message
}

/// Table of strings, the first of which is empty.
struct Strings {
    list: Vec<String>,
    indexes: HashMap<String, u64>,
}

impl Default for Strings {
    fn default() -> Strings {
        Strings {
            list: vec![String::new()],
            indexes: HashMap::from([(String::new(), 0)]),
        }
    }
}

impl Strings {
    fn index(&mut self, text: &str) -> u64 {
        if let Some(index) = self.indexes.get(text) {
            return *index;
        }
        let index = self.list.len() as u64;
        self.list.push(text.to_owned());
        self.indexes.insert(text.to_owned(), index);
        index
    }
}

/// Protobuf message in progress. Fields have wire type 0 (number) or 2 (bytes).
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while 0x80 <= value {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.0);
    }

    fn packed(&mut self, field: u64, values: impl IntoIterator<Item = u64>) {
        let mut packed = Message::default();
        values.into_iter().for_each(|value| packed.varint(value));
        self.message(field, &packed);
    }
}
