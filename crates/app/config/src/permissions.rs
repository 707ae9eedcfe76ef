//! Rules for the pictures that clients may request, built from the group `images`.

#[cfg(test)]
mod tests;

use std::path::Path;

use image_plan::{Recipe, RecipeRules, parse_query};
use report::Error;
use server::permission::Permissions;
use server::signature::SignatureKey;

use super::settings::Config;
use super::value::Quality;

/// Queries of the pictures that Pelton's own page requests, apart from `library.picture_sizes` and
/// `library.cover_sizes`. Clients may always use them.
const PAGE_QUERIES: [&str; 22] = [
    // The grid, and the probes for the reason why a picture does not load.
    "h=240",
    "h=480",
    "h=240&animation=first",
    "h=480&animation=first",
    "h=8",
    // The viewer, which requests the smallest sufficient width.
    "w=960",
    "w=1600",
    "w=2560",
    "w=3840",
    // Covers.
    "w=150",
    "w=300",
    "w=600",
    // Folders.
    "w=320&h=240&fit=cover",
    "w=640&h=480&fit=cover",
    // Pages without scripts: folders, albums and an album.
    "w=480&h=360&fit=cover",
    "w=360&h=360&fit=cover",
    "w=480&h=480&fit=cover",
    // The original beside a variant, if the browser cannot show its format.
    "format=png",
    "format=png&w=960",
    "format=png&w=1600",
    "format=png&w=2560",
    "format=png&w=3840",
];

/// Returns the rules for the pictures that clients may request.
///
/// # Errors
/// The file of keys cannot be read, or settings contradict each other.
pub fn load(config: &Config) -> Result<Permissions, Error> {
    let images = &config.images;
    let keys = keys(config)?;
    if images.require_signature && keys.is_empty() {
        let what =
            "images.require_signature is true, but there is no key to verify signatures with";
        return Err(
            Error::usage(what).hint("openssl rand -hex 32 makes a key for images.signature_keys")
        );
    }
    if images.presets_only && images.presets.0.is_empty() {
        let what = "images.presets_only is true, but there are no presets";
        return Err(Error::usage(what).hint("images.presets defines presets"));
    }
    Ok(Permissions {
        keys,
        require_signature: images.require_signature,
        recipes: RecipeRules {
            presets: images.presets.0.iter().cloned().collect(),
            presets_only: images.presets_only,
            widths_px: images.allowed_widths.0.clone(),
            heights_px: images.allowed_heights.0.clone(),
            formats: images.allowed_formats.0.clone(),
            qualities_pct: images
                .allowed_qualities
                .0
                .iter()
                .map(|Quality(pct)| *pct)
                .collect(),
            operations: images.allowed_operations.0.clone(),
            exempt: page_recipes(config),
        },
        referrers: images.allowed_referrers.0.clone(),
        allows_empty_referrer: images.empty_referrer,
        proxies: config.proxies.0.clone(),
        address_conversions_max: config.limits.address_conversions_max,
    })
}

/// Returns the keys of signed URLs: those of the setting, then those of the file.
///
/// # Errors
/// The file cannot be read, or a line is not a key.
pub fn keys(config: &Config) -> Result<Vec<SignatureKey>, Error> {
    let listed = config.images.signature_keys.0.iter();
    let listed = listed.map(|text| {
        let key = SignatureKey::parse(text);
        key.expect("the setting accepts only valid keys")
    });
    let mut keys: Vec<_> = listed.collect();
    if let Some(path) = &config.images.signature_key_file.0 {
        keys.extend(keys_of(path)?);
    }
    Ok(keys)
}

/// Reads a file of keys, one per line. Empty lines and lines that begin with `#` are ignored.
fn keys_of(path: &Path) -> Result<Vec<SignatureKey>, Error> {
    let unfit = |why: &dyn std::fmt::Display| {
        let what = format!("images.signature_key_file: {}: {why}", path.display());
        Error::usage(what).hint("openssl rand -hex 32 >> FILE adds a key to FILE")
    };
    let text = std::fs::read_to_string(path).map_err(|err| unfit(&err))?;
    let lines = text
        .lines()
        .enumerate()
        .map(|(row, line)| (row + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let keys = lines.map(|(number, line)| {
        let key = SignatureKey::parse(line);
        key.map_err(|err| unfit(&format_args!("line {number}: {err}")))
    });
    let keys: Vec<_> = keys.collect::<Result<_, Error>>()?;
    match keys.is_empty() {
        true => Err(unfit(&"the file contains no key")),
        false => Ok(keys),
    }
}

/// Returns the recipes of the pictures that Pelton's own page and `pelton prefetch` request.
fn page_recipes(config: &Config) -> Vec<Recipe> {
    let fixed = PAGE_QUERIES.map(str::to_owned).into_iter();
    let heights = config.library.picture_sizes.0.iter();
    let sides = config.library.cover_sizes.0.iter();
    let prefetched = heights
        .flat_map(|height| [format!("h={height}"), format!("h={height}&animation=first")])
        .chain(sides.map(|side| format!("w={side}&h={side}")));
    let recipes = fixed.chain(prefetched).map(|query| {
        let parsed = parse_query(&query);
        parsed
            .expect("the queries are valid, and the settings limit sizes")
            .recipe
    });
    let mut recipes: Vec<_> = recipes.collect();
    recipes.sort_unstable();
    recipes.dedup();
    recipes
}
