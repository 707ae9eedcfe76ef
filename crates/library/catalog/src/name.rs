//! Forms of names for comparison and sorting. These comparisons are stricter than those of
//! searches, which use [`fold`].

#[cfg(test)]
mod tests;

use unicode_normalization::UnicodeNormalization as _;

use crate::fold;

/// Returns the form in which two names are compared for equality: in NFC and without case. Accents,
/// punctuation and spaces make a difference.
#[must_use]
pub fn identity(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    // Canonical caseless matching (Unicode 3.13): decompose, fold case, compose.
    name.nfd().flat_map(without_case).nfc().collect()
}

/// Folds the case of one letter. Conversion to lower case alone would not map ẞ to ss and ς to σ.
fn without_case(letter: char) -> impl Iterator<Item = char> {
    // The dotless ı stays as it is. Conversion to upper case and back would turn it into i, which
    // is another letter.
    let is_dotless = letter == 'ı';
    let lower = letter.to_lowercase();
    let upper = lower.flat_map(move |letter| {
        let upper = (!is_dotless).then(|| letter.to_uppercase());
        let same = is_dotless.then_some(letter);
        upper.into_iter().flatten().chain(same)
    });
    upper.flat_map(char::to_lowercase)
}

/// Returns the key by which names are sorted: first the name without case, accents and punctuation,
/// then the name without case only.
pub(crate) fn order(name: &str) -> (String, String) {
    (folded_name(name), identity(name))
}

/// Returns a name without case, accents and punctuation. Returns a name that consists only of
/// punctuation unchanged.
pub(crate) fn folded_name(name: &str) -> String {
    let folded = fold(name);
    if folded.is_empty() {
        name.to_owned()
    } else {
        folded
    }
}
