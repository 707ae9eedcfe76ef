//! Options of an imgproxy URL: their names and arguments, before they are interpreted together.

mod arguments;

use super::{Delivery, Disposition, ImgproxyError};
use crate::{Format, Rgba, Target};

use self::arguments::Arguments;

/// Rule for fitting a picture into the box, by imgproxy's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum ResizingType {
    #[default]
    Fit,
    Fill,
    FillDown,
    Force,
    Auto,
}

/// Position of a crop or of a picture within its margins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Gravity {
    /// Corner, middle of an edge, or centre: `x` and `y` are fractions of the width and height (0,
    /// ½ or 1). `offset_x` and `offset_y` are distances from that point.
    Side {
        x: f64,
        y: f64,
        offset_x: f64,
        offset_y: f64,
    },
    /// Point of the picture, in fractions of its width and height.
    Point { x: f64, y: f64 },
    /// The most interesting part of the picture.
    Smart,
}

impl Gravity {
    pub(super) const CENTRE: Gravity = Gravity::Side {
        x: 0.5,
        y: 0.5,
        offset_x: 0.0,
        offset_y: 0.0,
    };
}

/// Values of all options. A number is 0 if its option is absent, unless stated otherwise.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) resizing_type: ResizingType,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) min_width: u32,
    pub(super) min_height: u32,
    /// Factors of width and height, 1 if absent.
    pub(super) zoom: [f64; 2],
    /// Device pixel ratio, 1 if absent.
    pub(super) dpr: f64,
    pub(super) enlarge: bool,
    pub(super) extend: bool,
    pub(super) extend_gravity: Gravity,
    pub(super) gravity: Gravity,
    pub(super) crop: [f64; 2],
    pub(super) crop_gravity: Option<Gravity>,
    pub(super) trim: Option<f64>,
    pub(super) padding: [u32; 4],
    /// Quarter turns clockwise, 0…3.
    pub(super) turns: u8,
    pub(super) flip_horizontal: bool,
    pub(super) flip_vertical: bool,
    pub(super) background: Option<Rgba>,
    pub(super) blur: f64,
    pub(super) sharpen: f64,
    pub(super) pixelate: u32,
    pub(super) quality: u8,
    pub(super) format_quality: Vec<(Target, u8)>,
    /// Maximum length of the output in bytes; 0 means no maximum.
    pub(super) bytes_max: u32,
    pub(super) format: Option<Target>,
    pub(super) raw: bool,
    pub(super) skipped: Vec<Format>,
    pub(super) expires_unix_s: Option<u64>,
    pub(super) disposition: Disposition,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            resizing_type: ResizingType::Fit,
            width: 0,
            height: 0,
            min_width: 0,
            min_height: 0,
            zoom: [1.0; 2],
            dpr: 1.0,
            enlarge: false,
            extend: false,
            extend_gravity: Gravity::CENTRE,
            gravity: Gravity::CENTRE,
            crop: [0.0; 2],
            crop_gravity: None,
            trim: None,
            padding: [0; 4],
            turns: 0,
            flip_horizontal: false,
            flip_vertical: false,
            background: None,
            blur: 0.0,
            sharpen: 0.0,
            pixelate: 0,
            quality: 0,
            format_quality: Vec::new(),
            bytes_max: 0,
            format: None,
            raw: false,
            skipped: Vec::new(),
            expires_unix_s: None,
            disposition: Disposition::default(),
        }
    }
}

/// Options that imgproxy knows and Pelton does not support, with all their names. Those of the
/// second half are options of imgproxy Pro.
const UNSUPPORTED: &[&str] = &[
    "extend_aspect_ratio",
    "extend_ar",
    "exar",
    "max_src_resolution",
    "msr",
    "max_src_file_size",
    "msfs",
    "max_animation_frames",
    "maf",
    "max_animation_frame_resolution",
    "mafr",
    "max_result_dimension",
    "mrd",
    "resizing_algorithm",
    "ra",
    "objects_position",
    "obj_pos",
    "op",
    "crop_aspect_ratio",
    "crop_ar",
    "car",
    "background_alpha",
    "bga",
    "adjust",
    "a",
    "brightness",
    "br",
    "contrast",
    "co",
    "saturation",
    "sa",
    "monochrome",
    "mc",
    "duotone",
    "dt",
    "unsharp_masking",
    "ush",
    "blur_areas",
    "ba",
    "progressive_blur",
    "pbl",
    "blur_detections",
    "bd",
    "draw_detections",
    "dd",
    "crop_objects",
    "colorize",
    "col",
    "gradient",
    "gr",
    "watermark_url",
    "wmu",
    "watermark_text",
    "wmt",
    "watermark_size",
    "wms",
    "watermark_rotate",
    "wm_rot",
    "wmr",
    "watermark_shadow",
    "wmsh",
    "style",
    "st",
    "dpi",
    "color_profile",
    "cp",
    "icc",
    "autoquality",
    "aq",
    "jpeg_options",
    "jpgo",
    "png_options",
    "pngo",
    "webp_options",
    "webpo",
    "avif_options",
    "avifo",
    "page",
    "pg",
    "pages",
    "pgs",
    "disable_animation",
    "da",
    "video_thumbnail_second",
    "vts",
    "video_thumbnail_keyframes",
    "vtk",
    "video_thumbnail_tile",
    "vtt",
    "video_thumbnail_animation",
    "vta",
    "fallback_image_url",
    "fiu",
    "bypass_cache",
    "bc",
    "cache_tags",
    "ct",
    "hashsum",
    "hs",
];

impl Options {
    /// Reads the option `name` with its `arguments`.
    pub(super) fn apply(&mut self, name: &str, arguments: &[&str]) -> Result<(), ImgproxyError> {
        let arguments = Arguments::new(name, arguments);
        match name {
            "resize" | "rs" => self.resize(&arguments),
            "size" | "s" => self.size(&arguments),
            "resizing_type" | "rt" => arguments.resizing_type().map(|it| self.resizing_type = it),
            "width" | "w" => arguments.only()?.whole().map(|it| self.width = it),
            "height" | "h" => arguments.only()?.whole().map(|it| self.height = it),
            "min-width" | "mw" => arguments.only()?.whole().map(|it| self.min_width = it),
            "min-height" | "mh" => arguments.only()?.whole().map(|it| self.min_height = it),
            "zoom" | "z" => arguments.zoom().map(|it| self.zoom = it),
            "dpr" => arguments.only()?.positive().map(|it| self.dpr = it),
            "enlarge" | "el" => arguments.only()?.flag().map(|it| self.enlarge = it),
            "extend" | "ex" => self.extend(&arguments),
            "gravity" | "g" => arguments.gravity(0).map(|it| self.gravity = it),
            "crop" | "c" => self.crop(&arguments),
            "trim" | "t" => arguments.trim().map(|it| self.trim = it),
            "padding" | "pd" => self.padding(&arguments),
            "rotate" | "rot" => arguments.turns().map(|it| self.turns = it),
            "flip" | "fl" => self.flip(&arguments),
            "background" | "bg" => arguments.colour().map(|it| self.background = it),
            "blur" | "bl" => arguments.only()?.number().map(|it| self.blur = it),
            "sharpen" | "sh" => arguments.only()?.number().map(|it| self.sharpen = it),
            "pixelate" | "pix" => arguments.only()?.whole().map(|it| self.pixelate = it),
            "quality" | "q" => arguments.only()?.quality().map(|it| self.quality = it),
            "format_quality" | "fq" => self.format_quality(&arguments),
            "max_bytes" | "mb" => arguments.only()?.bytes().map(|it| self.bytes_max = it),
            "format" | "f" | "ext" => arguments.target().map(|it| self.format = Some(it)),
            "raw" => arguments.only()?.flag().map(|it| self.raw = it),
            "skip_processing" | "skp" => self.skip(&arguments),
            "cachebuster" | "cb" => arguments.only().map(|_| ()),
            "expires" | "exp" => arguments.time().map(|it| self.expires_unix_s = it),
            "filename" | "fn" => arguments
                .filename()
                .map(|it| self.disposition.filename = it),
            "return_attachment" | "att" => arguments
                .only()?
                .flag()
                .map(|it| self.disposition.is_attachment = it),
            "auto_rotate" | "ar" => arguments.require_flag(true),
            "strip_metadata" | "sm" => arguments.require_flag(true),
            "keep_copyright" | "kcr" => arguments.require_flag(false),
            "strip_color_profile" | "scp" => arguments.only()?.flag().map(|_| ()),
            "preserve_hdr" | "ph" => arguments.require_flag(false),
            "enforce_thumbnail" | "eth" => arguments.require_flag(false),
            "watermark" | "wm" => arguments.without_watermark(),
            _ if UNSUPPORTED.contains(&name) => {
                Err(ImgproxyError::option(name, "this option is not supported"))
            }
            _ => Err(ImgproxyError::option(name, "there is no such option")),
        }
    }

    fn resize(&mut self, arguments: &Arguments<'_>) -> Result<(), ImgproxyError> {
        if let Some(argument) = arguments.at_most(8)?.given(0) {
            self.resizing_type = argument.resizing_type()?;
        }
        self.size(&arguments.after(1))
    }

    fn size(&mut self, arguments: &Arguments<'_>) -> Result<(), ImgproxyError> {
        let arguments = arguments.at_most(7)?;
        if let Some(width) = arguments.given(0) {
            self.width = width.whole()?;
        }
        if let Some(height) = arguments.given(1) {
            self.height = height.whole()?;
        }
        if let Some(enlarge) = arguments.given(2) {
            self.enlarge = enlarge.flag()?;
        }
        match arguments.given(3) {
            Some(_) => self.extend(&arguments.after(3)),
            None => Ok(()),
        }
    }

    fn extend(&mut self, arguments: &Arguments<'_>) -> Result<(), ImgproxyError> {
        let arguments = arguments.at_most(4)?;
        self.extend = arguments.first().flag()?;
        if arguments.given(1).is_some() {
            self.extend_gravity = arguments.gravity(1)?;
        }
        Ok(())
    }

    fn crop(&mut self, arguments: &Arguments<'_>) -> Result<(), ImgproxyError> {
        let width = arguments.first().number()?;
        let height = arguments.given(1).map_or(Ok(0.0), |it| it.number())?;
        self.crop = [width, height];
        if arguments.given(2).is_some() {
            self.crop_gravity = Some(arguments.gravity(2)?);
        }
        Ok(())
    }

    /// Reads margins in the order of CSS: top, right, bottom, left.
    fn padding(&mut self, arguments: &Arguments<'_>) -> Result<(), ImgproxyError> {
        let arguments = arguments.at_most(4)?;
        let margin = |at: usize, default: u32| {
            let margin = arguments.given(at);
            margin.map_or(Ok(default), |margin| margin.whole())
        };
        let top = margin(0, self.padding[0])?;
        let right = margin(1, top)?;
        let bottom = margin(2, top)?;
        let left = margin(3, right)?;
        self.padding = [top, right, bottom, left];
        Ok(())
    }

    fn flip(&mut self, arguments: &Arguments<'_>) -> Result<(), ImgproxyError> {
        let arguments = arguments.at_most(2)?;
        if let Some(flip) = arguments.given(0) {
            self.flip_horizontal = flip.flag()?;
        }
        if let Some(flip) = arguments.given(1) {
            self.flip_vertical = flip.flag()?;
        }
        Ok(())
    }

    fn format_quality(&mut self, arguments: &Arguments<'_>) -> Result<(), ImgproxyError> {
        for (format, quality) in arguments.pairs()? {
            let (format, quality) = (format.target()?, quality.quality()?);
            self.format_quality.retain(|(other, _)| *other != format);
            self.format_quality.push((format, quality));
        }
        Ok(())
    }

    fn skip(&mut self, arguments: &Arguments<'_>) -> Result<(), ImgproxyError> {
        for argument in arguments.each() {
            self.skipped.push(argument.format()?);
        }
        Ok(())
    }

    /// Returns the use of the unchanged file.
    pub(super) fn delivery(&self) -> Delivery {
        match (self.raw, &self.skipped) {
            (true, _) => Delivery::Original,
            (false, skipped) if skipped.is_empty() => Delivery::Converted,
            (false, skipped) => Delivery::OriginalOf(skipped.clone()),
        }
    }
}
