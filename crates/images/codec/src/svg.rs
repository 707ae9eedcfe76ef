//! SVG and SVGZ, rendered by resvg at the size that the caller expects: no scripts, no animation,
//! no network and no files. Text is drawn in the one built-in font. Embedded pictures must be data
//! URLs.
//!
//! A small file can describe a large tree by `use`, and a deep tree by nesting. The nodes and the
//! depth are computed before the tree is built, and a file beyond the limits is refused. Filters
//! and patterns can still take long; the sandbox's limits on CPU time and memory end them.
//!
//! Sources: SVG 2; the contract of the crates `usvg` and `resvg`.

use std::collections::HashMap;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use flate2::read::MultiGzDecoder;
use image_plan::{Format, Layout, Packed, Raster, SVG_BYTES_MAX, probe};
use resvg::tiny_skia::{IntSize, Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::roxmltree::{Document, Node, NodeId, ParsingOptions};
use resvg::usvg::{ImageHrefResolver, ImageKind, Options, Tree};

use crate::{DecodeOptions, Decoded, Error, ErrorKind, buffer};

/// Maximum number of elements and texts of a file.
const NODES_MAX: u32 = 200_000;
/// Maximum number of elements and texts after each `use` is replaced by its target.
const EXPANDED_NODES_MAX: u64 = 500_000;
/// Maximum depth of elements after each `use`, and each reference such as `fill="url(#id)"`, is
/// replaced by its target. The depth is limited because the renderer is recursive.
const DEPTH_MAX: u32 = 128;
/// Maximum number of pixels of all embedded pictures together.
const EMBEDDED_PIXELS_MAX: u64 = 32 << 20;

/// Open Sans Regular 1.11, Apache License 2.0: Latin, Greek and Cyrillic.
const FONT: &[u8] = include_bytes!("../fonts/OpenSans-Regular.ttf");
const FAMILY: &str = "Open Sans";
/// Namespace of XLink.
const XLINK: &str = "http://www.w3.org/1999/xlink";

/// Fonts of all files: [`FONT`], which stands for every family.
static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_serif_family(FAMILY);
    fonts.set_sans_serif_family(FAMILY);
    fonts.set_cursive_family(FAMILY);
    fonts.set_fantasy_family(FAMILY);
    fonts.set_monospace_family(FAMILY);
    Arc::new(fonts)
});

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    // A drawing can be rendered at any size, so there is no stored size to compare with.
    options
        .limits
        .admit("svg", options.stored, options.stored)?;
    let text = text(bytes)?;
    let xml = ParsingOptions {
        // Many files begin with a document type declaration. The parser loads no external entities,
        // and limits the depth and number of internal ones.
        allow_dtd: true,
        nodes_limit: NODES_MAX,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(&text, xml).map_err(|err| match err {
        resvg::usvg::roxmltree::Error::NodesLimitReached => {
            too_large(&format!("the file has more than {NODES_MAX} elements"))
        }
        err => undecodable(&err.to_string()),
    })?;
    Expansion::check(&document)?;
    let tree = Tree::from_xmltree(&document, &usvg_options())
        .map_err(|err| undecodable(&err.to_string()))?;
    render(&tree, options)
}

fn render(tree: &Tree, options: &DecodeOptions) -> Result<Decoded, Error> {
    let size = options.stored;
    let pixels = buffer::packed(size, Layout::Rgba)?;
    let pixmap = IntSize::from_wh(size.width_px, size.height_px)
        .and_then(|size| Pixmap::from_vec(pixels.data, size));
    let mut pixmap = pixmap
        .ok_or_else(|| too_large("a side of the picture is longer than the renderer supports"))?;
    let scale = Transform::from_scale(
        size.width_px as f32 / tree.size().width(),
        size.height_px as f32 / tree.size().height(),
    );
    resvg::render(tree, scale, &mut pixmap.as_mut());
    let mut data = pixmap.take();
    data.chunks_exact_mut(4).for_each(buffer::unpremultiply);
    let packed = Packed {
        size,
        layout: Layout::Rgba,
        data,
    };
    Ok(Decoded {
        raster: Raster::Packed(buffer::without_opaque_alpha(packed)),
        profile: None,
        damaged: false,
    })
}

/// Returns the text of an SVG or SVGZ.
fn text(bytes: &[u8]) -> Result<String, Error> {
    let mut unpacked = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut reader = MultiGzDecoder::new(bytes).take(SVG_BYTES_MAX + 1);
        reader
            .read_to_end(&mut unpacked)
            .map_err(|err| undecodable(&err.to_string()))?;
    } else {
        buffer::reserve(&mut unpacked, bytes.len())?;
        unpacked.extend_from_slice(bytes);
    }
    if SVG_BYTES_MAX < unpacked.len() as u64 {
        return Err(too_large("the text of the SVG is larger than the limit"));
    }
    String::from_utf8(unpacked).map_err(|_| undecodable("the text of the SVG is not UTF-8"))
}

fn usvg_options() -> Options<'static> {
    let pixels_left = AtomicU64::new(EMBEDDED_PIXELS_MAX);
    Options {
        font_family: FAMILY.to_owned(),
        fontdb: Arc::clone(&FONTS),
        image_href_resolver: ImageHrefResolver {
            resolve_data: Box::new(move |_, data, _| embedded(data, &pixels_left)),
            // Ignores pictures in other files and on other servers.
            resolve_string: Box::new(|_, _| None),
        },
        ..Options::default()
    }
}

/// Returns the picture of a data URL. Returns `None` if the picture is not a JPEG, PNG, GIF or
/// WebP, or has more than `pixels_left` pixels. The drawing is then rendered without the picture.
fn embedded(data: Arc<Vec<u8>>, pixels_left: &AtomicU64) -> Option<ImageKind> {
    let facts = probe(&data[..], data.len() as u64).ok()?;
    let kind = match facts.format {
        Format::Jpeg => ImageKind::JPEG,
        Format::Png => ImageKind::PNG,
        Format::Gif => ImageKind::GIF,
        Format::Webp => ImageKind::WEBP,
        _ => return None,
    };
    let take = |left: u64| left.checked_sub(facts.stored.pixels());
    let taken = pixels_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
    taken.is_ok().then(|| kind(data))
}

/// Number of nodes and depth of each element after each `use` is replaced by its target.
struct Expansion<'a, 'input> {
    targets: HashMap<&'a str, Node<'a, 'input>>,
    known: HashMap<NodeId, (u64, u32)>,
}

impl Expansion<'_, '_> {
    /// Fails if the document is too large or too deep. A `use` that contains itself counts as too
    /// deep.
    fn check(document: &Document<'_>) -> Result<(), Error> {
        let mut expansion = Expansion {
            targets: HashMap::new(),
            known: HashMap::new(),
        };
        for node in document.descendants() {
            if let Some(id) = node.attribute("id") {
                // Like the renderer, chooses the first of several elements with the same id.
                expansion.targets.entry(id).or_insert(node);
            }
        }
        expansion.of(document.root(), 0).map(drop)
    }
}

impl<'a, 'input> Expansion<'a, 'input> {
    /// Returns the number of nodes and the depth of `node`, which has `depth` ancestors.
    fn of(&mut self, node: Node<'a, 'input>, depth: u32) -> Result<(u64, u32), Error> {
        if DEPTH_MAX < depth {
            return Err(too_large(&format!(
                "elements are nested deeper than {DEPTH_MAX}"
            )));
        }
        let (nodes, below) = match self.known.get(&node.id()) {
            Some(known) => *known,
            None => {
                let (mut nodes, mut below) = (1, 0);
                let target = self.target(node);
                for child in node.children().chain(target) {
                    let (more, deep) = self.of(child, depth + 1)?;
                    nodes += more;
                    below = below.max(deep + 1);
                    if EXPANDED_NODES_MAX < nodes {
                        let detail = format!(
                            "the file has more than {EXPANDED_NODES_MAX} elements after \
                             the expansion of <use>"
                        );
                        return Err(too_large(&detail));
                    }
                }
                for target in self.painters(node) {
                    let (_, deep) = self.of(target, depth + 1)?;
                    below = below.max(deep + 1);
                }
                self.known.insert(node.id(), (nodes, below));
                (nodes, below)
            }
        };
        match depth + below <= DEPTH_MAX {
            true => Ok((nodes, below)),
            false => Err(too_large(&format!(
                "elements are nested deeper than {DEPTH_MAX}"
            ))),
        }
    }

    /// Returns the element that a `use` refers to, if any.
    fn target(&self, node: Node<'a, 'input>) -> Option<Node<'a, 'input>> {
        if node.tag_name().name() != "use" {
            return None;
        }
        // Like the renderer, prefers the attribute without a namespace.
        let href = |namespace: Option<&str>| {
            let mut attributes = node.attributes();
            let found = attributes.find(|it| it.name() == "href" && it.namespace() == namespace)?;
            Some(found.value())
        };
        let href = href(None).or_else(|| href(Some(XLINK)))?;
        let id = href.trim().strip_prefix('#')?;
        self.targets.get(id).copied()
    }

    /// Returns the elements that the attributes of `node` refer to by `url(#id)`: patterns, masks,
    /// clip paths, markers and filters. References in style sheets are not found.
    fn painters(&self, node: Node<'a, 'input>) -> Vec<Node<'a, 'input>> {
        let references = node.attributes().flat_map(|attribute| {
            let urls = attribute.value().split("url(").skip(1);
            urls.filter_map(|rest| {
                let rest = rest.trim_start().trim_start_matches(['"', '\'']);
                let id = rest.strip_prefix('#')?;
                id.split([')', '"', '\'']).next()
            })
        });
        references
            .filter_map(|id| self.targets.get(id.trim()).copied())
            .collect()
    }
}

fn undecodable(detail: &str) -> Error {
    Error::new(ErrorKind::Undecodable, format!("svg: {detail}"))
}

fn too_large(detail: &str) -> Error {
    Error::new(ErrorKind::TooLarge, format!("svg: {detail}"))
}

#[cfg(test)]
mod tests;
