//! `meta=full`: a picture's facts as JSON, under the names WebP Server Go gives them.

use std::fmt::Write as _;

use picture::{Recipe, Stage, Target};

use crate::library::LibraryPath;
use crate::problem::{Problem, json_string};
use crate::service::{Known, Service};

impl Service {
    /// The size and format that a request without `meta` and with no format asked for would start from.
    ///
    /// Of WebP Server Go's members `blurhash` is missing: it needs the pixels.
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
        let plan = picture::plan(
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
        out.push_str("}\n");
        Ok(out)
    }
}
