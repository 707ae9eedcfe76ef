//! Response to requests with `meta=full`: properties of a picture as JSON, with the member names of
//! WebP Server Go.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::sync::Arc;

use image_plan::{Accepts, Frames, Placeholder, Recipe, Stage, Target};
use reactor::blocking;
use serde_json::Value;
use variants::library::{Identity, LibraryPath};

use crate::known::Known;
use crate::problem::Problem;
use crate::service::Service;

/// Maximum width and height, in pixels, of the variant that is created only to compute the
/// placeholder (blurhash, thumbhash and colour).
const TINY_PX: u32 = 64;

impl Service {
    /// Returns a JSON description of the picture at `path`. Its width and height are those of the
    /// picture that the same request without the parameter `meta` would get.
    ///
    /// The members `blurhash`, `thumbhash` and `colour` need the pixels. If the original was never
    /// converted, a tiny variant is created to compute them. These members are missing if the
    /// picture cannot be converted, and for pages other than the first. The member `pages` exists
    /// if there are several pages, and the member `frames` if the picture is animated and all its
    /// frames were counted.
    ///
    /// # Errors
    /// [`Problem`]: the file does not exist, is not a picture, or has an invalid header.
    pub(crate) async fn describe(
        &self,
        path: &LibraryPath,
        recipe: Recipe,
        charged: Option<IpAddr>,
    ) -> Result<String, Problem> {
        let identity = self.identify(path).await?;
        let facts = match self.facts_for(path, &identity, &recipe).await? {
            Known::Picture(facts) => facts,
            Known::Damaged => return Err(Problem::Undecodable),
            _ => return Err(Problem::Unsupported),
        };
        // Width and height are the same in all target formats that the picture can have. A picture
        // that cannot be converted keeps its own width and height.
        let target = match facts.animated {
            true => Target::Webp,
            false => Target::Png,
        };
        let plan = image_plan::plan(
            &facts,
            &recipe,
            target,
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
        .expect("writing to a string cannot fail");
        write!(
            out,
            ",\"size\":{},\"format\":{},\"animated\":{},\"alpha\":{}",
            identity.size_bytes,
            Value::from(facts.format.extension()),
            facts.animated,
            facts.alpha
        )
        .expect("writing to a string cannot fail");
        if let (true, Frames::Exactly(frames)) = (facts.animated, facts.frames) {
            write!(out, ",\"frames\":{frames}").expect("writing to a string cannot fail");
        }
        if 1 < facts.pages {
            write!(out, ",\"pages\":{}", facts.pages).expect("writing to a string cannot fail");
        }
        // The placeholder of a file shows its first page.
        let placeholder = match recipe.page_number() {
            1 => self.placeholder(path, &identity, charged).await?,
            _ => None,
        };
        if let Some(placeholder) = placeholder {
            for (name, value) in [
                ("colour", placeholder.colour()),
                ("blurhash", placeholder.blurhash().to_owned()),
                ("thumbhash", placeholder.thumbhash()),
            ] {
                write!(out, ",\"{name}\":{}", Value::from(value))
                    .expect("writing to a string cannot fail");
            }
        }
        out.push_str("}\n");
        Ok(out)
    }

    /// Returns the placeholder of an original. If there is none yet, creates a tiny variant, whose
    /// conversion also computes the placeholder.
    async fn placeholder(
        &self,
        path: &LibraryPath,
        identity: &Identity,
        charged: Option<IpAddr>,
    ) -> Result<Option<Placeholder>, Problem> {
        let find = || {
            let (placeholders, identity) = (Arc::clone(self.placeholders()), *identity);
            blocking(move || placeholders.find(&identity))
        };
        if let Some(placeholder) = find().await {
            return Ok(Some(placeholder));
        }
        let tiny = Recipe {
            width_px: Some(TINY_PX),
            height_px: Some(TINY_PX),
            format: Some(Target::Webp),
            // Selects the first frame of an animation. A still picture has only one frame.
            frame: Some(NonZeroU16::MIN),
            ..Recipe::default()
        };
        // If the conversion fails, there is no placeholder; a request for the picture reports the
        // reason.
        match self.choose(path, tiny, Accepts::default(), charged).await {
            Err(problem) if problem.denial().is_some() => Err(problem),
            _ => Ok(find().await),
        }
    }
}
