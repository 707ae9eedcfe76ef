import { decoded } from "../base.ts";
import { focusOf, isAngled, isTurned, partOf, placed, quartersOf } from "./geometry.ts";
import { EFFECTS, type Parameter, type Recipe, SIDE_MAX, type Size, boxOf, inside, outputSize, queryOf, withQuery } from "./recipe.ts";

/** Picture that the snippets refer to. */
export interface Subject {
  /** Target of the file on this server, such as `/nature/Garden.jpg`. */
  readonly file: string;
  /** Absolute URL of the file, without a query. */
  readonly address: string;
  readonly natural: Size;
}

/** Spelling of a recipe for another server, or the parameters that the other server lacks. */
export type Spelling = { readonly text: string } | { readonly lacks: readonly string[] };

/** Widths of the candidates of `srcset`, as multiples of the width in CSS pixels. */
const MULTIPLES = [0.5, 1, 1.5, 2] as const;

function attribute(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
}

/** Returns the candidates of `srcset` as the value of an attribute, a line each. */
function lines(srcset: string, indent: number): string {
  return attribute(srcset).replaceAll(", ", `,\n${" ".repeat(indent)}`);
}

/** Returns the attribute `sizes` on a line of its own, or nothing if it is empty. */
function sized(sizes: string, indent: number): string {
  return sizes && `\n${" ".repeat(indent)}sizes="${sizes}"`;
}

interface Responsive {
  readonly src: string;
  readonly srcset: string;
  /** Empty if the candidates have densities instead of widths. */
  readonly sizes: string;
  readonly size: Size;
}

/** Operations with lengths in pixels, which depend on `dpr` but not on the width of the picture. */
const LENGTHS: readonly Parameter[] = ["blur", "sharpen", "unsharp", "pixelate", "pad", "round"];

/** Returns the candidates for a picture of the recipe's size in CSS pixels. */
function responsive({ address, natural: original }: Subject, recipe: Recipe): Responsive {
  const one: Recipe = { ...recipe, dpr: "" };
  const size = outputSize(one, original);
  if (isAngled(recipe) || LENGTHS.some((name) => recipe[name] !== "")) {
    const src = withQuery(address, queryOf(one));
    const dense = (dpr: string) => `${withQuery(address, queryOf({ ...one, dpr }))} ${dpr}x`;
    return { src, srcset: `${dense("1.5")}, ${dense("2")}`, sizes: "", size };
  }
  const natural = partOf(recipe, original);
  const hasCrop = recipe.fit !== "" && recipe.fit !== "inside";
  // Above this width, the server would send the same pixels again.
  const limit = recipe.fit === "contain" || recipe.enlarge === "true" ? SIDE_MAX : widest(one, natural);
  const at = (width: number) => {
    const height = hasCrop ? String(Math.round((size.height * width) / size.width)) : "";
    return withQuery(address, queryOf({ ...one, w: String(width), h: height }));
  };
  const wanted = MULTIPLES.map((multiple) => Math.round(size.width * multiple)).filter((width) => width <= limit);
  return {
    src: at(size.width),
    srcset: wanted.map((width) => `${at(width)} ${width}w`).join(", "),
    sizes: `(max-width: ${size.width}px) 100vw, ${size.width}px`,
    size,
  };
}

/** Returns the width of the largest variant with the aspect ratio of the recipe. */
function widest(recipe: Recipe, natural: Size): number {
  const box = boxOf(recipe);
  const hasCrop = (recipe.fit === "cover" || recipe.fit === "fill") && box.width > 0 && box.height > 0;
  return hasCrop ? inside(box, natural, true).width : natural.width;
}

/** Returns an `<img>` with candidates for narrow windows and dense screens. */
export function imgOf(subject: Subject, recipe: Recipe): string {
  const { src, srcset, sizes, size } = responsive(subject, recipe);
  const candidates = lines(srcset, 10);
  return `<img src="${attribute(src)}"\n  srcset="${candidates}"${sized(sizes, 2)}\n  width="${size.width}" height="${size.height}" alt="">`;
}

/** Returns a `<picture>` that names the formats, for caches that ignore the field Vary. */
export function pictureOf(subject: Subject, recipe: Recipe): string {
  const source = (format: string) => {
    const { srcset, sizes } = responsive(subject, { ...recipe, format });
    return `  <source type="image/${format}"\n    srcset="${lines(srcset, 12)}"${sized(sizes, 4)}>\n`;
  };
  const last = recipe.format === "png" ? "png" : "jpeg";
  const { src, size } = responsive(subject, { ...recipe, format: last });
  const image = `  <img src="${attribute(src)}" width="${size.width}" height="${size.height}" alt="">\n`;
  return `<picture>\n${source("avif")}${source("webp")}${image}</picture>`;
}

/** Returns a command that stores the variant, and prints the fields of the response. */
export function curlOf({ address }: Subject, recipe: Recipe, accept: string, format: string): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  return `curl -sS -D - -o picture.${format} \\\n  -H ${quoted(`Accept: ${accept}`)} \\\n  ${quoted(withQuery(address, queryOf(recipe)))}`;
}

/** Parameters that turn or crop the picture. */
const REGION: readonly Parameter[] = ["rotate", "flip", "flop", "crop", "focus"];

/** Returns the parameters that turn the picture, if the recipe also crops or scales it. */
function turnsBeforeOthers(recipe: Recipe): Parameter[] {
  const isMore = recipe.crop !== "" || recipe.w !== "" || recipe.h !== "";
  return isMore && isTurned(recipe) ? REGION.slice(0, 3).filter((name) => recipe[name] !== "") : [];
}

/** Returns the parameters of the recipe that other servers lack, except those that `known` names. */
function lackedEffects(recipe: Recipe, known: Readonly<Record<string, unknown>>): Parameter[] {
  const names = [...EFFECTS, "page", "animation", "frame", "kernel", "max_bytes"] as const;
  const lacks: Parameter[] = names.filter((name) => recipe[name] !== "" && !(name in known));
  return isAngled(recipe) ? [...lacks, "rotate"] : lacks;
}

/** Returns the spelling for WebP Server Go, which negotiates the format and fixes the quality. */
export function webpServerGoOf({ address, natural }: Subject, recipe: Recipe): Spelling {
  const lacks: string[] = [...REGION.filter((name) => recipe[name] !== ""), ...lackedEffects(recipe, {})];
  const box = boxOf(recipe);
  const isCover = recipe.fit === "cover";
  if (recipe.fit === "contain" || recipe.fit === "fill") lacks.push(`fit=${recipe.fit}`);
  // WebP Server Go does not resize if a side of the box exceeds the picture.
  if (isCover && (natural.width < box.width || natural.height < box.height)) lacks.push("fit=cover");
  if (recipe.enlarge === "true") lacks.push("enlarge");
  if (recipe.q) lacks.push("q");
  if (recipe.format) lacks.push("format");
  if (lacks.length > 0) return { lacks };
  const prefix = isCover ? "" : "max_";
  const sides = [box.width && `${prefix}width=${box.width}`, box.height && `${prefix}height=${box.height}`];
  return { text: withQuery(address, sides.filter(Boolean).join("&")) };
}

/** Options of imgproxy with the values of a parameter. Numbers of `pad` are in the order of CSS. */
const OPTIONS: Readonly<Partial<Record<Parameter, string>>> = { blur: "bl", sharpen: "sh", pixelate: "pix", bg: "bg", pad: "pd", max_bytes: "mb" };
/** Colours that imgproxy accepts. */
const HEX = /^([\da-f]{3}|[\da-f]{6})$/i;

/** Resizing types of imgproxy by fit. */
const RESIZING: Readonly<Record<string, string>> = { contain: "fit", cover: "fill-down", fill: "force" };

/**
 * Returns the unsigned imgproxy path. imgproxy negotiates the format if the path names none, and
 * rotates after cropping and scaling.
 */
export function imgproxyOf({ address, natural }: Subject, recipe: Recipe): Spelling {
  const lacks = [...turnsBeforeOthers(recipe), ...lackedEffects(recipe, OPTIONS)];
  if (recipe.bg && !HEX.test(recipe.bg)) lacks.push("bg");
  if (recipe.sharpen.includes(",")) lacks.push("sharpen");
  if (lacks.length > 0) return { lacks };
  const options: string[] = [];
  if (recipe.rotate) options.push(`rot:${quartersOf(recipe)}`);
  if (recipe.flip === "true" || recipe.flop === "true") options.push(`fl:${recipe.flop === "true" ? 1 : 0}:${recipe.flip === "true" ? 1 : 0}`);
  if (recipe.crop) {
    const { x, y, width, height } = partOf(recipe, natural);
    options.push(`c:${width}:${height}:nowe:${x}:${y}`);
  }
  if (recipe.focus && recipe.fit === "cover") options.push(`g:fp:${recipe.focus.replace(",", ":")}`);
  const { width, height } = recipe.fit === "fill" ? outputSize({ ...recipe, dpr: "" }, natural) : { width: recipe.w || 0, height: recipe.h || 0 };
  if (recipe.w || recipe.h) {
    const grows = recipe.enlarge === "true";
    const type = recipe.fit === "cover" && grows ? "fill" : (RESIZING[recipe.fit] ?? "fit");
    options.push(`rs:${type}:${width}:${height}:${grows ? 1 : 0}${recipe.fit === "contain" ? ":1" : ""}`);
  }
  if (recipe.dpr) options.push(`dpr:${recipe.dpr}`);
  for (const [name, option] of Object.entries(OPTIONS)) {
    const value = recipe[name as Parameter];
    if (value) options.push(`${option}:${value.replaceAll(",", ":")}`);
  }
  if (recipe.q) options.push(`q:${recipe.q}`);
  const format = recipe.format ? `@${recipe.format === "jpeg" ? "jpg" : recipe.format}` : "";
  const source = address.replace(/[%?#@]/g, encodeURIComponent);
  return { text: `/insecure/${[...options, ""].join("/")}plain/${source}${format}` };
}

/**
 * Returns the path for a server of the IIIF Image API 3. It has no negotiation, so the path names
 * the format that this browser got.
 */
export function iiifOf({ file, natural }: Subject, recipe: Recipe, format: string): Spelling {
  const isGrey = recipe.grayscale === "true";
  const lacks: string[] = [...turnsBeforeOthers(recipe), ...lackedEffects(recipe, { grayscale: isGrey })];
  if (recipe.fit === "contain") lacks.push("fit=contain");
  if (recipe.q) lacks.push("q");
  if (lacks.length > 0) return { lacks };
  const size = outputSize(recipe, natural);
  const box = boxOf(recipe);
  const part = partOf(recipe, natural);
  let source = part;
  if (recipe.fit === "cover") {
    const { x, y, width, height } = placed(part, inside(box, part, true), focusOf(recipe));
    source = { x: part.x + x, y: part.y + y, width, height };
  }
  const isFull = isTurned(recipe) || (source.width === natural.width && source.height === natural.height);
  const region = isFull ? "full" : `${source.x},${source.y},${source.width},${source.height}`;
  const grows = size.width > source.width || size.height > source.height;
  const isWhole = size.width === source.width && size.height === source.height;
  const isStretched = recipe.fit === "cover" || recipe.fit === "fill";
  let scaled = `!${size.width},${size.height}`;
  if (isStretched) scaled = `${size.width},${size.height}`;
  else if (!box.height) scaled = `${size.width},`;
  else if (!box.width) scaled = `,${size.height}`;
  const identifier = encodeURIComponent(decoded(file.replace(/^\//, "")));
  const extension = format === "jpeg" ? "jpg" : format;
  const wanted = isWhole ? "max" : (grows ? "^" : "") + scaled;
  return { text: `/iiif/3/${identifier}/${region}/${wanted}/${iiifRotation(recipe)}/${isGrey ? "gray" : "default"}.${extension}` };
}

/** Returns the IIIF rotation. A leading `!` mirrors horizontally before rotating. */
function iiifRotation(recipe: Recipe): string {
  const { flip, flop } = recipe;
  const degrees = quartersOf(recipe);
  const isMirrored = (flip === "true") !== (flop === "true");
  // A vertical flip is a horizontal flip plus a rotation by 180°.
  const turned = degrees + (flip === "true" ? 180 : 0);
  return isMirrored ? `!${(720 - turned) % 360}` : String(turned % 360);
}
