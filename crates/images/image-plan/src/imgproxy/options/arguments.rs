//! Arguments of one option of an imgproxy URL.

use percent_encoding::percent_decode_str;

use super::super::{ImgproxyError, decode_base64url};
use super::{Gravity, ResizingType};
use crate::{Format, REQUESTED_SIDE_PX_MAX, Rgba, Target};

/// Arguments of the option `name`, the texts between its colons.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'a> {
    name: &'a str,
    texts: &'a [&'a str],
}

/// One argument of the option `name`.
#[derive(Clone, Copy)]
pub(super) struct Argument<'a> {
    name: &'a str,
    text: &'a str,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(name: &'a str, texts: &'a [&'a str]) -> Arguments<'a> {
        Arguments { name, texts }
    }

    fn error(&self, problem: &str) -> ImgproxyError {
        ImgproxyError::option(self.name, problem)
    }

    /// Returns the arguments, if there are at most `max`.
    pub(super) fn at_most(&self, max: usize) -> Result<Arguments<'a>, ImgproxyError> {
        match self.texts.len() <= max {
            true => Ok(*self),
            false => Err(self.error("this option has too many arguments")),
        }
    }

    /// Returns the arguments from the one at `at` on.
    pub(super) fn after(&self, at: usize) -> Arguments<'a> {
        let texts = self.texts.get(at..).unwrap_or_default();
        Arguments { texts, ..*self }
    }

    /// Returns the argument at `at`, if it is neither missing nor empty.
    pub(super) fn given(&self, at: usize) -> Option<Argument<'a>> {
        let text = self.texts.get(at).filter(|text| !text.is_empty())?;
        Some(Argument {
            name: self.name,
            text,
        })
    }

    /// Returns the first argument, which may be empty.
    pub(super) fn first(&self) -> Argument<'a> {
        Argument {
            name: self.name,
            text: self.texts.first().copied().unwrap_or_default(),
        }
    }

    /// Returns the single argument.
    pub(super) fn only(&self) -> Result<Argument<'a>, ImgproxyError> {
        Ok(self.at_most(1)?.first())
    }

    pub(super) fn each(&self) -> impl Iterator<Item = Argument<'a>> {
        let name = self.name;
        self.texts.iter().map(move |text| Argument { name, text })
    }

    pub(super) fn pairs(
        &self,
    ) -> Result<impl Iterator<Item = (Argument<'a>, Argument<'a>)>, ImgproxyError> {
        if !self.texts.len().is_multiple_of(2) {
            return Err(self.error("must be pairs of a format and a quality"));
        }
        let name = self.name;
        let argument = move |text: &'a str| Argument { name, text };
        let pairs = self.texts.chunks_exact(2);
        Ok(pairs.map(move |pair| (argument(pair[0]), argument(pair[1]))))
    }

    pub(super) fn resizing_type(&self) -> Result<ResizingType, ImgproxyError> {
        self.only()?.resizing_type()
    }

    pub(super) fn target(&self) -> Result<Target, ImgproxyError> {
        self.only()?.target()
    }

    /// Reads one factor for both sides, or one for the width and one for the height.
    pub(super) fn zoom(&self) -> Result<[f64; 2], ImgproxyError> {
        let width = self.at_most(2)?.first().positive()?;
        let height = self
            .given(1)
            .map_or(Ok(width), |height| height.positive())?;
        Ok([width, height])
    }

    /// Reads a position, whose type is the argument at `at`, and whose offsets follow.
    pub(super) fn gravity(&self, at: usize) -> Result<Gravity, ImgproxyError> {
        let arguments = self.after(at);
        if ["obj", "objw"].contains(&arguments.first().text) {
            return Err(self.error("object detection is not supported"));
        }
        let arguments = arguments.at_most(3)?;
        let offset = |at: usize| {
            let offset = arguments.given(at);
            offset.map_or(Ok(0.0), |offset| offset.signed())
        };
        let [offset_x, offset_y] = [offset(1)?, offset(2)?];
        let side = |x: f64, y: f64| Gravity::Side {
            x,
            y,
            offset_x,
            offset_y,
        };
        Ok(match arguments.first().text {
            "ce" => side(0.5, 0.5),
            "no" => side(0.5, 0.0),
            "so" => side(0.5, 1.0),
            "ea" => side(1.0, 0.5),
            "we" => side(0.0, 0.5),
            "noea" => side(1.0, 0.0),
            "nowe" => side(0.0, 0.0),
            "soea" => side(1.0, 1.0),
            "sowe" => side(0.0, 1.0),
            "sm" if arguments.texts.len() == 1 => Gravity::Smart,
            "fp" if arguments.texts.len() == 3 => {
                let range = 0.0..=1.0;
                if !range.contains(&offset_x) || !range.contains(&offset_y) {
                    return Err(self.error("the focus point must be two numbers from 0 to 1"));
                }
                Gravity::Point {
                    x: offset_x,
                    y: offset_y,
                }
            }
            _ => {
                let problem = "the gravity must be sm, fp:X:Y, or one of no, so, ea, we, noea, \
                               nowe, soea, sowe and ce with up to two offsets";
                return Err(self.error(problem));
            }
        })
    }

    /// Reads the threshold of borders. Returns `None` if borders are kept.
    pub(super) fn trim(&self) -> Result<Option<f64>, ImgproxyError> {
        let arguments = self.at_most(4)?;
        if arguments.given(1).is_some() {
            return Err(self.error("trimming borders of a given colour is not supported"));
        }
        for at in [2, 3] {
            if arguments.given(at).map_or(Ok(false), |it| it.flag())? {
                return Err(
                    self.error("trimming opposite borders by equal amounts is not supported")
                );
            }
        }
        arguments
            .given(0)
            .map(|threshold| threshold.number())
            .transpose()
    }

    /// Reads an angle. Returns it in quarter turns.
    pub(super) fn turns(&self) -> Result<u8, ImgproxyError> {
        let angle: Option<i64> = self.only()?.text.parse().ok();
        let angle = angle.filter(|angle| angle % 90 == 0);
        let problem = "must be a multiple of 90";
        let angle = angle.ok_or_else(|| self.error(problem))?;
        Ok((angle.rem_euclid(360) / 90) as u8)
    }

    /// Reads a colour: three numbers, hexadecimal digits, or nothing.
    pub(super) fn colour(&self) -> Result<Option<Rgba>, ImgproxyError> {
        let malformed = || {
            let problem = "must be R:G:B from 0 to 255, or 3 or 6 hexadecimal digits";
            self.error(problem)
        };
        let channels: Option<Vec<u8>> = match self.texts {
            [""] => return Ok(None),
            [hex] if [3, 6].contains(&hex.len()) => {
                let digit = |char: char| Some(char.to_digit(16)? as u8);
                let digits: Option<Vec<u8>> = hex.chars().map(digit).collect();
                digits.map(|digits| match digits.len() {
                    3 => digits.iter().map(|digit| 17 * digit).collect(),
                    _ => digits
                        .chunks_exact(2)
                        .map(|it| 16 * it[0] + it[1])
                        .collect(),
                })
            }
            [_, _, _] => self.texts.iter().map(|text| text.parse().ok()).collect(),
            _ => None,
        };
        match channels.as_deref() {
            Some(&[red, green, blue]) => Ok(Some(Rgba([red, green, blue, 255]))),
            _ => Err(malformed()),
        }
    }

    /// Reads a time of expiry. Returns the first second at which the URL is void; `None` if it
    /// never is.
    pub(super) fn time(&self) -> Result<Option<u64>, ImgproxyError> {
        let time: Result<i64, _> = self.only()?.text.parse();
        let time = time.map_err(|_| self.error("must be a Unix time in seconds"))?;
        // The URL is valid during the second that it states, and always if it states none.
        Ok(u64::try_from(time)
            .ok()
            .filter(|time| *time != 0)
            .map(|time| time.saturating_add(1)))
    }

    pub(super) fn filename(&self) -> Result<Option<String>, ImgproxyError> {
        let arguments = self.at_most(2)?;
        let is_base64 = arguments.given(1).map_or(Ok(false), |it| it.flag())?;
        let text = arguments.first().text;
        let name = match is_base64 {
            true => {
                let decoded = decode_base64url(text.trim_end_matches('='));
                decoded.and_then(|bytes| String::from_utf8(bytes).ok())
            }
            false => percent_decode_str(text).decode_utf8().ok().map(Into::into),
        };
        let name = name.ok_or_else(|| self.error("must be percent-encoded or base64url"))?;
        Ok((!name.is_empty()).then_some(name))
    }

    /// Accepts a flag only if it has the value that Pelton's pictures always have.
    pub(super) fn require_flag(&self, value: bool) -> Result<(), ImgproxyError> {
        match self.only()?.flag()? == value {
            true => Ok(()),
            false => Err(self.error(&format!("the value {} is not supported", !value))),
        }
    }

    /// Accepts a watermark only if it is invisible.
    pub(super) fn without_watermark(&self) -> Result<(), ImgproxyError> {
        match self.first().number()? == 0.0 {
            true => Ok(()),
            false => Err(self.error("watermarks are not supported")),
        }
    }
}

impl Argument<'_> {
    fn error(&self, problem: &str) -> ImgproxyError {
        ImgproxyError::option(self.name, problem)
    }

    /// Reads a number of pixels.
    pub(super) fn whole(&self) -> Result<u32, ImgproxyError> {
        let number = self.text.parse().ok();
        let number = number.filter(|number| *number <= REQUESTED_SIDE_PX_MAX);
        number.ok_or_else(|| {
            let problem = format!("must be whole numbers from 0 to {REQUESTED_SIDE_PX_MAX}");
            self.error(&problem)
        })
    }

    /// Reads a number of bytes.
    pub(super) fn bytes(&self) -> Result<u32, ImgproxyError> {
        let bytes = self.text.parse().ok();
        bytes.ok_or_else(|| self.error("must be a whole number of bytes below 4 GiB"))
    }

    pub(super) fn signed(&self) -> Result<f64, ImgproxyError> {
        let number: Option<f64> = self.text.parse().ok();
        let number = number.filter(|number| number.is_finite());
        number.ok_or_else(|| self.error("must be a number"))
    }

    pub(super) fn number(&self) -> Result<f64, ImgproxyError> {
        let number = self.signed().ok().filter(|number| 0.0 <= *number);
        number.ok_or_else(|| self.error("must be a number, at least 0"))
    }

    pub(super) fn positive(&self) -> Result<f64, ImgproxyError> {
        let number = self.signed().ok().filter(|number| 0.0 < *number);
        number.ok_or_else(|| self.error("must be a number above 0"))
    }

    pub(super) fn flag(&self) -> Result<bool, ImgproxyError> {
        match self.text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
            _ => Err(self.error("must be 1, t, true, 0, f or false")),
        }
    }

    /// Reads a quality; 0 means the default.
    pub(super) fn quality(&self) -> Result<u8, ImgproxyError> {
        let quality = self.text.parse().ok().filter(|quality| *quality <= 100);
        quality.ok_or_else(|| self.error("must be a quality from 0 to 100"))
    }

    pub(super) fn resizing_type(&self) -> Result<ResizingType, ImgproxyError> {
        match self.text {
            "fit" => Ok(ResizingType::Fit),
            "fill" => Ok(ResizingType::Fill),
            "fill-down" => Ok(ResizingType::FillDown),
            "force" => Ok(ResizingType::Force),
            "auto" => Ok(ResizingType::Auto),
            _ => Err(self.error("the type must be fit, fill, fill-down, force or auto")),
        }
    }

    /// Reads the format of an output.
    pub(super) fn target(&self) -> Result<Target, ImgproxyError> {
        let target = Target::from_extension(self.text);
        target.ok_or_else(|| self.error("the format must be avif, webp, jpg or png"))
    }

    /// Reads the format of a source.
    pub(super) fn format(&self) -> Result<Format, ImgproxyError> {
        const NAMES: [(&str, Format); 12] = [
            ("jpg", Format::Jpeg),
            ("jpeg", Format::Jpeg),
            ("png", Format::Png),
            ("gif", Format::Gif),
            ("webp", Format::Webp),
            ("avif", Format::Avif),
            ("bmp", Format::Bmp),
            ("svg", Format::Svg),
            ("tiff", Format::Tiff),
            ("ico", Format::Ico),
            ("heic", Format::Heif),
            ("jxl", Format::Jxl),
        ];
        let named = NAMES.iter().find(|(name, _)| *name == self.text);
        let format = named.map(|(_, format)| *format);
        format.ok_or_else(|| self.error("must contain only names of picture formats"))
    }
}
