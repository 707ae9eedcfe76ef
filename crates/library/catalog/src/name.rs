//! Names as they are compared for identity, and as they are sorted. Search compares by [`fold`],
//! which ignores more differences.

#[cfg(test)]
mod tests;

use unicode_normalization::UnicodeNormalization as _;

use crate::fold;

/// Returns the form by which names are compared for identity: composed (NFC) and without case.
/// Accents, punctuation and spaces make a difference.
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
    // The upper case of the dotless ı is I, whose lower case is another letter.
    let is_dotless = letter == 'ı';
    let lower = letter.to_lowercase();
    let upper = lower.flat_map(move |letter| {
        let upper = (!is_dotless).then(|| letter.to_uppercase());
        let same = is_dotless.then_some(letter);
        upper.into_iter().flatten().chain(same)
    });
    upper.flat_map(char::to_lowercase)
}

/// Returns the key by which a name is sorted. Names that are equal when folded are sorted by their
/// identities.
pub(crate) fn order(name: &str) -> (String, String) {
    (folded_name(name), identity(name))
}

/// Returns a name without case, accents and punctuation, or unchanged if nothing else is in it.
pub(crate) fn folded_name(name: &str) -> String {
    let folded = fold(name);
    if folded.is_empty() {
        name.to_owned()
    } else {
        folded
    }
}
