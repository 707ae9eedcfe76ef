/** Colour as lightness (0 to 1), chroma and hue (radians) in the OKLCH space. */
interface Oklch {
  readonly l: number;
  readonly c: number;
  readonly h: number;
}

type Rgb = readonly [number, number, number];

/** Colours of a view that shows a cover, as `#rrggbb`. */
export interface Tint {
  /** Background. Normal and dim text on it has a contrast of at least 4.5. */
  readonly ground: string;
  /** Colour of links and of the main button, with the same contrast to the background. */
  readonly accent: string;
  /** Text on the main button. */
  readonly onAccent: string;
}

/** Smallest contrast of text (WCAG 2.2, 1.4.3). */
const CONTRAST = 4.5;

/**
 * Colours of app.css that are shown beside a tint, and the lightness with which the search for the
 * background (`ground`) and for the accent begins, by scheme.
 */
const SCHEMES = {
  light: { dim: "#566361", page: "#f7f8f8", onAccent: "#ffffff", ground: 0.92, accent: 0.52, step: -0.01 },
  dark: { dim: "#9dabaa", page: "#0f1415", onAccent: "#0b1011", ground: 0.29, accent: 0.76, step: 0.01 },
} as const;

/** Returns the tint for a cover whose dominant colour is `colour`, a `#rrggbb`. */
export function tintOf(colour: string, scheme: keyof typeof SCHEMES): Tint {
  const { c, h } = toOklch(parsed(colour));
  const { dim, page, onAccent, ground: groundL, accent: accentL, step } = SCHEMES[scheme];
  const ground = until({ l: groundL, c: Math.min(c, 0.055), h }, -step, (it) => contrast(it, dim) >= CONTRAST);
  const fits = (it: string) => [ground, page, onAccent].every((other) => contrast(it, other) >= CONTRAST);
  const accent = until({ l: accentL, c: Math.min(c, 0.15), h }, step, fits);
  return { ground, accent, onAccent };
}

/** Changes the lightness of `start` in steps until `fits` accepts the colour. */
function until(start: Oklch, step: number, fits: (colour: string) => boolean): string {
  for (let l = start.l; l > 0 && l < 1; l += step) {
    const colour = toHex({ ...start, l });
    if (fits(colour)) return colour;
  }
  return step > 0 ? "#ffffff" : "#000000";
}

/** Returns the contrast of two colours, from 1 to 21 (WCAG 2.2). */
export function contrast(a: string, b: string): number {
  const [light, dark] = [luminance(parsed(a)), luminance(parsed(b))].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance([r, g, b]: Rgb): number {
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

function parsed(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16) || 0;
  return [((value >> 16) & 255) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255];
}

function linear(value: number): number {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

function encoded(value: number): number {
  return value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055;
}

// The matrices are those of Björn Ottosson's Oklab (bottosson.github.io/posts/oklab).
function toOklch(rgb: Rgb): Oklch {
  const [r, g, b] = rgb.map(linear) as [number, number, number];
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  const a = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s;
  const bb = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s;
  return { l: 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, c: Math.hypot(a, bb), h: Math.atan2(bb, a) };
}

/** Returns the colour as `#rrggbb`. The chroma of a colour outside sRGB is reduced. */
function toHex(colour: Oklch): string {
  let rgb = toRgb(colour);
  for (let c = colour.c; c > 0 && rgb.some((it) => it < -0.0005 || it > 1.0005); ) {
    c = Math.max(0, c - 0.005);
    rgb = toRgb({ ...colour, c });
  }
  const byte = (value: number) => Math.round(Math.min(1, Math.max(0, value)) * 255);
  return `#${rgb.map((it) => byte(it).toString(16).padStart(2, "0")).join("")}`;
}

function toRgb({ l: lightness, c, h }: Oklch): Rgb {
  const [a, b] = [c * Math.cos(h), c * Math.sin(h)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    encoded(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}
