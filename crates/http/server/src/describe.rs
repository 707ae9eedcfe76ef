//! `meta=full`: a picture's facts as JSON, under the names WebP Server Go gives them.

use std::fmt::Write as _;
use std::sync::Arc;

use image_plan::{Accepts, Placeholder, Recipe, Stage, Target};
use variants::library::{Identity, LibraryPath};

use crate::problem::{Problem, json_string};
use crate::service::{Known, Service, blocking};

/// Side of the variant that is made for its look's sake.
const TINY_PX: u32 = 64;

impl Service {
    /// The size and format that a request without `meta` and with no format asked for would start from.
    ///
    /// `blurhash`, `thumbhash` and `colour` need the pixels: where nothing was made of the original yet, a tiny variant is. A
    /// picture that is not converted goes without them.
    ///
    /// # Errors
    /// [`Problem`]: not found, or no picture.
    pub(crate) async fn describe(
        &self,
        path: &LibraryPath,
        recipe: Recipe,
    ) -> Result<String, Problem> {
        let identity = self.identify(path).await?;
        let facts = match self.facts(path, &identity).await? {
            Known::Picture(facts) => facts,
            Known::Damaged => return Err(Problem::Undecodable),
            _ => return Err(Problem::Unsupported),
        };
        // Any format would do: the size is the same in all, and a picture that is not converted keeps its own.
        let plan = image_plan::plan(
            &facts,
            &recipe,
            Target::Png,
            Stage::Quick,
            &self.settings.picture,
        );
        let size = plan.map_or(facts.oriented(), |plan| plan.target);
        let mut out = String::with_capacity(160);
        write!(
            out,
            "{{\"width\":{},\"height\":{}",
            size.width_px, size.height_px
        )
        .expect("strings take everything");
        write!(out, ",\"size\":{},\"format\":", identity.size_bytes)
            .expect("strings take everything");
        json_string(&mut out, facts.format.extension());
        write!(
            out,
            ",\"animated\":{},\"alpha\":{}",
            facts.animated, facts.alpha
        )
        .expect("strings take everything");
        if let Some(look) = self.look(path, &identity).await {
            for (name, value) in [
                ("colour", look.colour()),
                ("blurhash", look.blurhash().to_owned()),
                ("thumbhash", look.thumbhash()),
            ] {
                write!(out, ",\"{name}\":").expect("strings take everything");
                json_string(&mut out, &value);
            }
        }
        out.push_str("}\n");
        Ok(out)
    }

    /// What an original looks like. Making the smallest variant tells that, and is bounded as every conversion is.
    async fn look(&self, path: &LibraryPath, identity: &Identity) -> Option<Placeholder> {
        let find = || {
            let (looks, identity) = (Arc::clone(self.looks()), *identity);
            blocking(move || looks.find(&identity))
        };
        if let Some(look) = find().await {
            return Some(look);
        }
        let tiny = Recipe {
            width_px: Some(TINY_PX),
            height_px: Some(TINY_PX),
            format: Some(Target::Webp),
            ..Recipe::default()
        };
        // Whatever kept it from being made, there is no look then; who asks for the picture is told why.
        self.choose(path, tiny, Accepts::default()).await.ok()?;
        find().await
    }
}
