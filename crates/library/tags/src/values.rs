use crate::Field;
use std::fmt;

/// The values of a file's tags, in the file's order, in one allocation of text.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tags {
    text: String,
    values: Vec<Value>,
    /// The fields that have values, a bit each: most of those that are asked for have none.
    present: u128,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Value {
    field: Field,
    start: u32,
    end: u32,
}

impl Tags {
    /// The first value of `field`.
    #[must_use]
    pub fn first(&self, field: Field) -> Option<&str> {
        self.all(field).next()
    }

    /// All values of `field`.
    pub fn all(&self, field: Field) -> impl Iterator<Item = &str> {
        let values = match self.has(field) {
            true => &self.values[..],
            false => &[],
        };
        let values = values.iter();
        values
            .filter(move |value| value.field == field)
            .map(|value| self.text(value))
    }

    /// Whether there is a value of `field`.
    #[must_use]
    pub fn has(&self, field: Field) -> bool {
        self.present & bit(field) != 0
    }

    /// Everything.
    pub fn iter(&self) -> impl Iterator<Item = (Field, &str)> {
        self.values
            .iter()
            .map(|value| (value.field, self.text(value)))
    }

    /// Adds a value, without the white space and zero bytes around it; one that is empty then is none.
    ///
    /// # Panics
    /// When all values together reach 4 GiB; limits are far below.
    pub fn push(&mut self, field: Field, value: &str) {
        let value = value.trim_matches(|letter: char| letter == '\0' || letter.is_whitespace());
        if value.is_empty() {
            return;
        }
        let start = self.text.len();
        self.text.push_str(value);
        let end = u32::try_from(self.text.len()).expect("limits are below 4 GiB");
        self.values.push(Value {
            field,
            start: start as u32,
            end,
        });
        self.present |= bit(field);
    }

    /// Takes over the values of the fields that are not here: of two tags in one file the richer one comes first.
    pub(crate) fn fill(&mut self, other: &Tags) {
        let known = self.present;
        for (field, value) in other.iter() {
            if known & bit(field) == 0 {
                self.push(field, value);
            }
        }
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Bytes of all values.
    pub(crate) fn text_bytes(&self) -> usize {
        self.text.len()
    }

    fn text(&self, value: &Value) -> &str {
        &self.text[value.start as usize..value.end as usize]
    }
}

/// Of [`Tags::present`].
const fn bit(field: Field) -> u128 {
    const { assert!(Field::ALL.len() <= u128::BITS as usize) };
    1 << field as u8
}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = self.iter().map(|(field, value)| (field.name(), value));
        f.debug_list().entries(pairs).finish()
    }
}
