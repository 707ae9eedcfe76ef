//! Parameters of the effects: `kernel`, `gamma`, `brightness`, `contrast`, `saturation`,
//! `grayscale`, `sepia`, `bitonal`, `duotone`, `invert`, `blur`, `sharpen`, `unsharp`, `pixelate`,
//! `pad`, `bg` and `round`.

use std::num::NonZeroU8;

use super::{Parameter, QueryError, RawParameters, contradiction, digits};
use crate::effects::Hundredths;
use crate::{Angle, Duotone, Effects, Kernel, Padding, Rgb, Rgba, Tone, Unsharp};

const COLOUR_FORM: &str = "must be a colour: 3, 4, 6 or 8 hexadecimal digits (f80, ff8800, \
                           ff880080), white, black or transparent";
const DUOTONE_FORM: &str =
    "must be two colours, which replace black and white, such as 1f2e3d,ffeedd";

impl RawParameters {
    /// Interprets the parameters of the effects, without the angle. `dpr_pct` is the device pixel
    /// ratio in hundredths, with which all lengths are multiplied.
    pub(super) fn effects(&self, angle: Angle, dpr_pct: u32) -> Result<Effects, QueryError> {
        let pixelate_px = self.length(Parameter::Pixelate, Effects::PIXELATE_PX_MAX, dpr_pct)?;
        Ok(Effects {
            kernel: self.kernel()?,
            angle,
            tone: self.tone()?,
            blur_centipx: self.blur(dpr_pct)?,
            unsharp: self.unsharp(dpr_pct)?,
            pixelate_px: if pixelate_px == 1 { 0 } else { pixelate_px },
            pad: self.pad(dpr_pct)?,
            background: self.background()?,
            round_px: match self.value(Parameter::Round) {
                Some("max") => Effects::LENGTH_PX_MAX,
                _ => self.length(Parameter::Round, Effects::LENGTH_PX_MAX, dpr_pct)?,
            },
        })
    }

    fn kernel(&self) -> Result<Kernel, QueryError> {
        let Some(name) = self.value(Parameter::Kernel) else {
            return Ok(Kernel::default());
        };
        use Parameter::{H, Height, MaxHeight, MaxWidth, W, Width};
        let sides = [W, H, Width, Height, MaxWidth, MaxHeight];
        if self.first(&sides).is_none() {
            return Err(contradiction(Parameter::Kernel, "needs w or h"));
        }
        let mut kernels = Kernel::ALL.into_iter();
        kernels.find(|kernel| kernel.name() == name).ok_or_else(|| {
            let problem = "must be nearest, linear, cubic or lanczos3";
            QueryError::value(Parameter::Kernel, problem)
        })
    }

    fn tone(&self) -> Result<Tone, QueryError> {
        let saturation_pct = self.percentage(Parameter::Saturation)?;
        let is_grey = self.flag(Parameter::Grayscale)?;
        if is_grey && self.value(Parameter::Saturation).is_some() {
            let problem = "cannot be combined with saturation";
            return Err(contradiction(Parameter::Grayscale, problem));
        }
        Ok(Tone {
            gamma_pct: self.gamma()?,
            brightness_pct: self.percentage(Parameter::Brightness)?,
            contrast_pct: self.percentage(Parameter::Contrast)?,
            saturation_pct: if is_grey {
                Tone::PCT_MIN
            } else {
                saturation_pct
            },
            sepia: self.flag(Parameter::Sepia)?,
            bitonal: self.bitonal()?,
            duotone: self.duotone()?,
            invert: self.flag(Parameter::Invert)?,
        })
    }

    /// Interprets a whole number with an optional sign. Returns 0 if the parameter is absent.
    fn percentage(&self, parameter: Parameter) -> Result<i16, QueryError> {
        let Some(text) = self.value(parameter) else {
            return Ok(0);
        };
        let number = match text.strip_prefix('-') {
            Some(rest) => digits(rest).and_then(|number| i16::try_from(number).ok()?.checked_neg()),
            None => digits(text).and_then(|number| i16::try_from(number).ok()),
        };
        let (min, max) = (Tone::PCT_MIN, Tone::PCT_MAX);
        let number = number.filter(|number| (min..=max).contains(number));
        number.ok_or_else(|| {
            let problem = format!("must be a whole number from {min} to {max}");
            QueryError::value(parameter, problem)
        })
    }

    fn gamma(&self) -> Result<Option<u16>, QueryError> {
        let Some(text) = self.value(Parameter::Gamma) else {
            return Ok(None);
        };
        let range = u32::from(Tone::GAMMA_PCT_MIN)..=u32::from(Tone::GAMMA_PCT_MAX);
        match hundredths(text).filter(|gamma| range.contains(gamma)) {
            Some(100) => Ok(None),
            Some(gamma) => Ok(Some(gamma as u16)),
            None => {
                let problem = "must be a number from 0.1 to 10 with at most 2 decimals";
                Err(QueryError::value(Parameter::Gamma, problem))
            }
        }
    }

    fn bitonal(&self) -> Result<Option<NonZeroU8>, QueryError> {
        let level = self.number(Parameter::Bitonal, u8::MAX.into())?;
        Ok(level.and_then(|level| NonZeroU8::new(level as u8)))
    }

    fn duotone(&self) -> Result<Option<Duotone>, QueryError> {
        let Some(text) = self.value(Parameter::Duotone) else {
            return Ok(None);
        };
        let duotone = text.split_once(',').and_then(|(dark, light)| {
            Some(Duotone {
                dark: opaque(dark)?,
                light: opaque(light)?,
            })
        });
        let malformed = || QueryError::value(Parameter::Duotone, DUOTONE_FORM);
        duotone.map(Some).ok_or_else(malformed)
    }

    fn background(&self) -> Result<Option<Rgba>, QueryError> {
        let Some(text) = self.value(Parameter::Bg) else {
            return Ok(None);
        };
        let malformed = || QueryError::value(Parameter::Bg, COLOUR_FORM);
        colour(text).map(Some).ok_or_else(malformed)
    }

    /// Interprets `blur`. Returns 0 if the parameter is absent.
    fn blur(&self, dpr_pct: u32) -> Result<u16, QueryError> {
        let Some(text) = self.value(Parameter::Blur) else {
            return Ok(0);
        };
        let max = Effects::SIGMA_CENTIPX_MAX;
        let sigma = hundredths(text).filter(|sigma| *sigma <= u32::from(max));
        let sigma = sigma.ok_or_else(|| {
            let problem = format!(
                "must be a number from 0 to {} with at most 2 decimals",
                Hundredths(max)
            );
            QueryError::value(Parameter::Blur, problem)
        })?;
        self.multiplied(Parameter::Blur, sigma, dpr_pct, max)
    }

    /// Interprets `sharpen` or `unsharp`. `sharpen=SIGMA` is a short form of `unsharp=SIGMA,1,0`.
    fn unsharp(&self, dpr_pct: u32) -> Result<Option<Unsharp>, QueryError> {
        use Parameter::Sharpen;
        let (parameter, text) = match (self.value(Sharpen), self.value(Parameter::Unsharp)) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return Err(contradiction(Sharpen, "cannot be combined with unsharp"));
            }
            (Some(text), None) => (Sharpen, text),
            (None, Some(text)) => (Parameter::Unsharp, text),
        };
        let max = Effects::SIGMA_CENTIPX_MAX;
        let numbers = unsharp_numbers(text, parameter == Sharpen);
        let Some((sigma, amount_pct, threshold)) = numbers else {
            let (form, last) = match parameter {
                Sharpen => ("SIGMA or SIGMA,AMOUNT", ""),
                _ => ("RADIUS,AMOUNT,THRESHOLD", " and THRESHOLD at most 255"),
            };
            let problem = format!(
                "must be {form}: numbers with at most 2 decimals, the first at most {}, AMOUNT at most {}{last}",
                Hundredths(max),
                Hundredths(Unsharp::AMOUNT_PCT_MAX)
            );
            return Err(QueryError::value(parameter, problem));
        };
        let sigma_centipx = self.multiplied(parameter, sigma, dpr_pct, max)?;
        Ok((sigma_centipx != 0 && amount_pct != 0).then_some(Unsharp {
            sigma_centipx,
            amount_pct,
            threshold,
        }))
    }

    /// Interprets `pad`: one number for all margins, or 2, 3 or 4 numbers in the order of CSS.
    fn pad(&self, dpr_pct: u32) -> Result<Padding, QueryError> {
        let Some(text) = self.value(Parameter::Pad) else {
            return Ok(Padding::default());
        };
        let max = Effects::LENGTH_PX_MAX;
        let number = |text: &str| digits(text).filter(|number| *number <= u32::from(max));
        let numbers: Option<Vec<u32>> = text.split(',').map(number).collect();
        let [top, right, bottom, left] = match numbers.as_deref() {
            Some(&[all]) => [all; 4],
            Some(&[vertical, horizontal]) => [vertical, horizontal, vertical, horizontal],
            Some(&[top, horizontal, bottom]) => [top, horizontal, bottom, horizontal],
            Some(&[top, right, bottom, left]) => [top, right, bottom, left],
            _ => {
                let problem = format!(
                    "must be 1 to 4 whole numbers up to {max}, in the order top, right, bottom, left"
                );
                return Err(QueryError::value(Parameter::Pad, problem));
            }
        };
        let margin = |length| self.multiplied(Parameter::Pad, length, dpr_pct, max);
        Ok(Padding {
            top_px: margin(top)?,
            right_px: margin(right)?,
            bottom_px: margin(bottom)?,
            left_px: margin(left)?,
        })
    }

    /// Interprets a whole number of pixels. Returns 0 if the parameter is absent.
    fn length(&self, parameter: Parameter, max: u16, dpr_pct: u32) -> Result<u16, QueryError> {
        let Some(text) = self.value(parameter) else {
            return Ok(0);
        };
        let length = digits(text).filter(|length| *length <= u32::from(max));
        let length = length.ok_or_else(|| {
            let problem = format!("must be a whole number from 0 to {max}");
            QueryError::value(parameter, problem)
        })?;
        self.multiplied(parameter, length, dpr_pct, max)
    }

    /// Multiplies a length with the device pixel ratio.
    fn multiplied(
        &self,
        parameter: Parameter,
        length: u32,
        dpr_pct: u32,
        max: u16,
    ) -> Result<u16, QueryError> {
        let length = (length * dpr_pct + 50) / 100;
        let length = u16::try_from(length).ok().filter(|length| *length <= max);
        length
            .ok_or_else(|| QueryError::value(parameter, "is too large after multiplication by dpr"))
    }
}

/// Parses the numbers of `unsharp`, or of `sharpen` if `is_short` is true: sigma and amount in
/// hundredths, and the threshold.
fn unsharp_numbers(text: &str, is_short: bool) -> Option<(u32, u16, u8)> {
    let numbers: Vec<&str> = text.split(',').collect();
    let (sigma, amount, threshold) = match (&numbers[..], is_short) {
        (&[sigma], true) => (sigma, "1", "0"),
        (&[sigma, amount], true) => (sigma, amount, "0"),
        (&[sigma, amount, threshold], false) => (sigma, amount, threshold),
        _ => return None,
    };
    let sigma = hundredths(sigma).filter(|it| *it <= u32::from(Effects::SIGMA_CENTIPX_MAX))?;
    let amount = hundredths(amount).filter(|it| *it <= u32::from(Unsharp::AMOUNT_PCT_MAX))?;
    let threshold = u8::try_from(digits(threshold)?).ok()?;
    Some((sigma, amount as u16, threshold))
}

/// Parses a number with at most 2 decimals. Returns it in hundredths.
pub(super) fn hundredths(text: &str) -> Option<u32> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "00"));
    let decimals = match decimals.len() {
        1 => digits(decimals)? * 10,
        2 => digits(decimals)?,
        _ => return None,
    };
    digits(whole)?.checked_mul(100)?.checked_add(decimals)
}

/// Parses a colour: 3, 4, 6 or 8 hexadecimal digits as in CSS, without `#`, or a name.
fn colour(text: &str) -> Option<Rgba> {
    match text {
        "white" => return Some(Rgba::WHITE),
        "black" => return Some(Rgba([0, 0, 0, 255])),
        "transparent" => return Some(Rgba::TRANSPARENT),
        _ => {}
    }
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| Some(digit.to_digit(16)? as u8))
        .collect();
    let digits = digits?;
    let channels: Vec<u8> = match digits.len() {
        3 | 4 => digits.iter().map(|digit| 17 * digit).collect(),
        6 | 8 => digits
            .chunks_exact(2)
            .map(|pair| 16 * pair[0] + pair[1])
            .collect(),
        _ => return None,
    };
    match channels[..] {
        [red, green, blue] => Some(Rgba([red, green, blue, 255])),
        // All fully transparent colours are the same.
        [.., 0] => Some(Rgba::TRANSPARENT),
        [red, green, blue, alpha] => Some(Rgba([red, green, blue, alpha])),
        _ => None,
    }
}

/// Parses a colour without transparency.
fn opaque(text: &str) -> Option<Rgb> {
    let Rgba([red, green, blue, 255]) = colour(text)? else {
        return None;
    };
    Some(Rgb([red, green, blue]))
}
