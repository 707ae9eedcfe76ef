import { angledSize, partOf } from "./geometry.ts";

/** Names of the operations on pixels, in the order in which the server executes them. */
export const EFFECTS = [
  "trim", "gamma", "brightness", "contrast", "saturation", "grayscale", "sepia", "duotone", "invert",
  "blur", "sharpen", "unsharp", "pixelate", "bg", "pad", "round",
] as const;

/** Names of the parameters of a picture's URL, in the order in which the URL has them. */
export const PARAMETERS = [
  "page", "animation", "frame", "rotate", "flip", "flop", "crop", "focus", "w", "h", "fit", "kernel", "dpr", "enlarge",
  ...EFFECTS, "q", "max_bytes", "format",
] as const;

export type Parameter = (typeof PARAMETERS)[number];

/**
 * Text of each parameter as it was typed; empty if the URL has no such parameter. The server
 * decides which texts are valid.
 */
export type Recipe = Readonly<Record<Parameter, string>>;

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Largest side that a request may name, in pixels. */
export const SIDE_MAX = 16_384;

/**
 * Returns the name of a parameter in the playground's own address. There, `q` is the text of the
 * search field, as in all views.
 */
function nameInPage(name: Parameter): string {
  return name === "q" ? "quality" : name;
}

/** Other spellings of values, which the server accepts too: an empty text stands for the default. */
const FLAG: ReadonlyMap<string, string> = new Map([["1", "true"], ["0", ""], ["false", ""]]);
const SPELLINGS: Readonly<Partial<Record<Parameter, ReadonlyMap<string, string>>>> = {
  flip: FLAG,
  flop: FLAG,
  enlarge: FLAG,
  grayscale: FLAG,
  sepia: FLAG,
  invert: FLAG,
  rotate: new Map([["0", ""]]),
  fit: new Map([["inside", ""]]),
  format: new Map([["auto", ""]]),
};

/** Sides of the box by their names in WebP Server Go. The first two crop, as `fit=cover` does. */
export const SIDES = { width: "w", height: "h", max_width: "w", max_height: "h" } as const;

/**
 * Returns the recipe in the query of the playground's own address. Each value has the spelling
 * that the controls use.
 */
export function recipeOf(query: URLSearchParams): Recipe {
  const read = (name: string) => query.get(name)?.trim() ?? "";
  const valueOf = (name: Parameter) => {
    const text = read(nameInPage(name));
    return SPELLINGS[name]?.get(text) ?? text;
  };
  const recipe = Object.fromEntries(PARAMETERS.map((name) => [name, valueOf(name)])) as Record<Parameter, string>;
  for (const [other, name] of Object.entries(SIDES)) recipe[name] ||= read(other);
  if (read("width") && read("height")) recipe.fit ||= "cover";
  return recipe;
}

/** Returns the query of a picture's URL, without the question mark. */
export function queryOf(recipe: Recipe): string {
  const pairs = PARAMETERS.filter((name) => recipe[name] !== "").map((name) => `${name}=${encodeURIComponent(recipe[name])}`);
  // A query may contain commas and colons as they are (RFC 3986 §3.4).
  return pairs.join("&").replaceAll("%2C", ",").replaceAll("%3A", ":");
}

/** Returns the target of a picture with a query, which may be empty. */
export function withQuery(target: string, query: string): string {
  return query ? `${target}?${query}` : target;
}

/** Returns the query of the playground's own address: the picture, and the recipe. */
export function pageQuery(picture: string, recipe: Recipe): Record<string, string> {
  const filled = PARAMETERS.filter((name) => recipe[name] !== "").map((name) => [nameInPage(name), recipe[name]]);
  return { picture, ...Object.fromEntries(filled) };
}

/** Returns the sides of the box after `dpr`; 0 for a side that is not given. */
export function boxOf({ w, h, dpr }: Recipe): Size {
  const scaled = (side: string) => Math.round(Number(side || 0) * Number(dpr || 1));
  return { width: scaled(w), height: scaled(h) };
}

/** Returns the size of the variant that a valid recipe makes of a picture of the size `original`. */
export function outputSize(recipe: Recipe, original: Size): Size {
  const box = boxOf(recipe);
  let { width, height } = angledSize(recipe, fittedSize(recipe, original));
  if (recipe.fit === "contain" && box.width && box.height) {
    // A corner of a rotated picture may exceed the box.
    [width, height] = [Math.max(width, box.width), Math.max(height, box.height)];
  }
  const { top, right, bottom, left } = marginsOf(recipe);
  return { width: width + left + right, height: height + top + bottom };
}

/** Returns the margins that `pad` states, multiplied by `dpr`. */
function marginsOf({ pad, dpr }: Recipe): Readonly<Record<"top" | "right" | "bottom" | "left", number>> {
  const [top = 0, right = top, bottom = top, left = right] = pad.split(",").map((side) => Math.round(Number(side) * Number(dpr || 1)) || 0);
  return { top, right, bottom, left };
}

/** Returns the size of the picture in the box, before its rotation by an angle and without margins. */
function fittedSize(recipe: Recipe, original: Size): Size {
  const { width, height } = partOf(recipe, original);
  const natural = { width, height };
  const box = boxOf(recipe);
  const mayGrow = recipe.enlarge === "true";
  if (!box.width && !box.height) return natural;
  if (!box.width || !box.height) return inside(natural, { width: box.width || Infinity, height: box.height || Infinity }, mayGrow);
  const exceeds = natural.width < box.width || natural.height < box.height;
  switch (recipe.fit) {
    case "cover":
    case "fill":
      return exceeds && !mayGrow ? inside(box, natural, true) : box;
    default:
      return inside(natural, box, mayGrow);
  }
}

/** Returns the largest size within `box` that has the aspect ratio of `shape`. */
export function inside(shape: Size, box: Size, mayGrow: boolean): Size {
  if (!mayGrow && shape.width <= box.width && shape.height <= box.height) return shape;
  const scale = Math.min(box.width / shape.width, box.height / shape.height);
  const scaled = (side: number) => Math.max(1, Math.round(side * scale));
  return { width: scaled(shape.width), height: scaled(shape.height) };
}

/** Splits `NAME: MESSAGE` into the parameter and the message. */
export function problemOf(detail: string): { parameter: Parameter | null; sentence: string } {
  const [, name = "", sentence = ""] = /^(\w+): (.*)$/s.exec(detail) ?? [];
  const parameter = PARAMETERS.find((it) => it === name) ?? null;
  return parameter ? { parameter, sentence } : { parameter, sentence: detail };
}
