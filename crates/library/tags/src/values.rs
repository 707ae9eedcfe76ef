use crate::Field;
use std::fmt;

/// Values of a file's tags, in the file's order, stored in one string.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tags {
    text: String,
    values: Vec<Value>,
    /// Set of the fields that have values, one bit per field. It speeds up lookups: most lookups
    /// are for fields without values.
    present: u128,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Value {
    field: Field,
    start: u32,
    end: u32,
}

impl Tags {
    /// Returns the first value of `field`, if any.
    #[must_use]
    pub fn first(&self, field: Field) -> Option<&str> {
        self.all(field).next()
    }

    /// Returns all values of `field`.
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

    /// Returns whether `field` has a value.
    #[must_use]
    pub fn has(&self, field: Field) -> bool {
        self.present & bit(field) != 0
    }

    /// Returns all fields and values.
    pub fn iter(&self) -> impl Iterator<Item = (Field, &str)> {
        self.values
            .iter()
            .map(|value| (value.field, self.text(value)))
    }

    /// Adds a value, without surrounding white space and zero bytes; an empty value is ignored.
    ///
    /// # Panics
    /// If all values together reach 4 GiB, which [`Limits`](crate::Limits) prevents.
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

    /// Adds the values of `other`, but only for fields that have no values yet. If a file has
    /// several tags, the best tag must therefore be added first.
    pub(crate) fn fill(&mut self, other: &Tags) {
        let known = self.present;
        for (field, value) in other.iter() {
            if known & bit(field) == 0 {
                self.push(field, value);
            }
        }
    }

    /// Returns the number of values.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns the total length of all values in bytes.
    pub(crate) fn text_bytes(&self) -> usize {
        self.text.len()
    }

    fn text(&self, value: &Value) -> &str {
        &self.text[value.start as usize..value.end as usize]
    }
}

/// Returns the bit of `field` in [`Tags::present`].
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
