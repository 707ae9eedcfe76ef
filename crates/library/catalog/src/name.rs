//! Forms of names for comparison and for sorting. Names are compared here more strictly than in a
//! search, which uses [`fold`].

#[cfg(test)]
mod tests;

use unicode_normalization::UnicodeNormalization as _;

use crate::fold;

/// Returns the form by which two names are compared for identity: composed (NFC) and case-folded.
/// Accents, punctuation and spaces are significant.
#[must_use]
pub fn identity(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    // Unicode 3.13, canonical caseless matching: decompose, fold case, compose.
    name.nfd().flat_map(without_case).nfc().collect()
}

/// Folds the case of one letter. Lower case alone would not map ẞ to ss and ς to σ.
fn without_case(letter: char) -> impl Iterator<Item = char> {
    // The dotless ı is kept: its upper case is I, whose lower case is i, another letter.
    let is_dotless = letter == 'ı';
    let lower = letter.to_lowercase();
    let upper = lower.flat_map(move |letter| {
        let upper = (!is_dotless).then(|| letter.to_uppercase());
        let same = is_dotless.then_some(letter);
        upper.into_iter().flatten().chain(same)
    });
    upper.flat_map(char::to_lowercase)
}

/// Returns the key by which a name is sorted: its folded form, then its identity.
pub(crate) fn order(name: &str) -> (String, String) {
    (folded_name(name), identity(name))
}

/// Returns a name without case, accents and punctuation, or unchanged if it consists of punctuation
/// alone.
pub(crate) fn folded_name(name: &str) -> String {
    let folded = fold(name);
    if folded.is_empty() {
        name.to_owned()
    } else {
        folded
    }
}
