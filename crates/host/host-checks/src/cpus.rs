//! Sets of processors, in the two forms in which the kernel writes them.

use std::collections::BTreeSet;
use std::fmt;

/// Set of processors, by the kernel's numbers: 3 for `cpu3`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus(BTreeSet<u32>);

impl Cpus {
    /// Bound above all numbers. Linux supports at most 8,192 processors.
    pub const END: u32 = 8192;

    /// Parses a list such as `0-3,8`. An empty list is an empty set. Returns `None` if `text` is
    /// not such a list.
    #[must_use]
    pub fn parse_list(text: &str) -> Option<Cpus> {
        let mut found = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            if last < first || Cpus::END <= last {
                return None;
            }
            found.extend(first..=last);
        }
        Some(Cpus(found))
    }

    /// Parses a mask in hexadecimal words such as `ff,00000000`, the last word of which stands for
    /// the processors 0 to 31. Returns `None` if `text` is not such a mask.
    #[must_use]
    pub fn parse_mask(text: &str) -> Option<Cpus> {
        let mut found = BTreeSet::new();
        for (index, word) in text.trim().rsplit(',').enumerate() {
            let word = u32::from_str_radix(word, 16).ok()?;
            let first = u32::try_from(index).ok()?.checked_mul(32)?;
            if Cpus::END <= first {
                return None;
            }
            found.extend(
                (0..32)
                    .filter(|bit| word >> bit & 1 == 1)
                    .map(|bit| first + bit),
            );
        }
        Some(Cpus(found))
    }

    /// Returns the number of processors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the set has no processor.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the set has the processor `cpu`.
    #[must_use]
    pub fn has(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Returns the mask form, which [`Cpus::parse_mask`] parses.
    #[must_use]
    pub fn mask(&self) -> String {
        let words = self.0.last().map_or(1, |last| last / 32 + 1);
        let word = |index: u32| -> u32 {
            let bits = (0..32).filter(|bit| self.has(index * 32 + bit));
            bits.map(|bit| 1 << bit).sum()
        };
        let words = (0..words).rev().map(|index| match index + 1 {
            highest if highest == words => format!("{:x}", word(index)),
            _ => format!("{:08x}", word(index)),
        });
        words.collect::<Vec<_>>().join(",")
    }

    /// Returns the processors in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().copied()
    }
}

impl FromIterator<u32> for Cpus {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Cpus {
        Cpus(numbers.into_iter().collect())
    }
}

impl fmt::Display for Cpus {
    /// Writes the list form, such as `0-3,8`; `none` for an empty set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match parts.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => parts.push((cpu, cpu)),
            }
        }
        let parts = parts.iter().map(|(first, last)| match last - first {
            0 => first.to_string(),
            _ => format!("{first}-{last}"),
        });
        match parts.collect::<Vec<_>>().join(",") {
            list if list.is_empty() => f.write_str("none"),
            list => f.write_str(&list),
        }
    }
}
