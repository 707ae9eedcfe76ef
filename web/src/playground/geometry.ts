// Turn and crop of a picture by the server's rules, for the recipe that the page shows.

import type { Recipe, Size } from "./recipe.ts";

/** Rectangle in pixels. */
export interface Rect extends Size {
  readonly x: number;
  readonly y: number;
}

/** Rectangle or point in shares of the picture's sides, from 0 to 1. */
export interface Shares {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

const WHOLE: Shares = { x: 0, y: 0, width: 1, height: 1 };
const CENTRE: Point = { x: 0.5, y: 0.5 };
/** Decimals of a share in a URL. */
const DECIMALS = 4;

/** Returns whether the recipe rotates or mirrors the picture. */
export function isTurned({ rotate, flip, flop }: Recipe): boolean {
  return rotate !== "" || flip === "true" || flop === "true";
}

/** Returns the size of a picture after `rotate`. */
export function turnedSize({ rotate }: Recipe, { width, height }: Size): Size {
  return rotate === "90" || rotate === "270" ? { width: height, height: width } : { width, height };
}

/** Returns the proportions that `crop` names, or `null` if it names none. */
export function ratioOf({ crop }: Recipe): Size | null {
  const [, width, height] = /^(\d+):(\d+)$/.exec(crop) ?? [];
  return Number(width) > 0 && Number(height) > 0 ? { width: Number(width), height: Number(height) } : null;
}

/** Returns the rectangle that `crop` names, in shares of a picture of the size `turned`, or `null` if it names none. */
export function rectangleOf({ crop }: Recipe, turned: Size): Shares | null {
  const numbers = crop.split(",").map(Number);
  const [x = 0, y = 0, width = 0, height = 0] = numbers;
  if (numbers.length !== 4 || !numbers.every(Number.isFinite) || width <= 0 || height <= 0) return null;
  if (crop.includes(".")) return { x, y, width, height };
  return { x: x / turned.width, y: y / turned.height, width: width / turned.width, height: height / turned.height };
}

/** Returns the point that `focus` names, or the centre. */
export function focusOf({ focus }: Recipe): Point {
  const [x, y] = focus.split(",").map(Number);
  return focus !== "" && x !== undefined && y !== undefined && Number.isFinite(x) && Number.isFinite(y) ? { x, y } : CENTRE;
}

/** Returns the part of the turned picture that `crop` keeps of a picture of the size `natural`. */
export function partOf(recipe: Recipe, natural: Size): Rect {
  const turned = turnedSize(recipe, natural);
  const ratio = ratioOf(recipe);
  if (ratio) return placed(turned, largest(ratio, turned), focusOf(recipe));
  const { x, y, width, height } = rectangleOf(recipe, turned) ?? WHOLE;
  const [left, right] = interval(x, width, turned.width);
  const [top, bottom] = interval(y, height, turned.height);
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** Returns the rectangle of the size `kept` inside `whole` whose centre is nearest to `focus`. */
export function placed(whole: Size, kept: Size, focus: Point): Rect {
  const start = (side: number, part: number, share: number) => Math.max(0, Math.min(side - part, Math.floor(side * share - part / 2)));
  return { x: start(whole.width, kept.width, focus.x), y: start(whole.height, kept.height, focus.y), ...kept };
}

/** Returns the text of a rectangle for `crop`; empty for the whole picture. */
export function cropText(rectangle: Shares): string {
  const { x, y, width, height } = rectangle;
  const [left, top] = [share(x), share(y)];
  const [right, bottom] = [share(Math.min(1 - left, width)), share(Math.min(1 - top, height))];
  if (left === 0 && top === 0 && right === 1 && bottom === 1) return "";
  const texts = [left, top, right, bottom].map(String);
  // Without a decimal point, the numbers would be pixels.
  if (!texts.some((text) => text.includes("."))) texts[0] = `${left}.0`;
  return texts.join(",");
}

/** Returns the text of a point for `focus`; empty for the centre. */
export function focusText({ x, y }: Point): string {
  return x === CENTRE.x && y === CENTRE.y ? "" : `${share(x)},${share(y)}`;
}

/** Returns the largest size inside `whole` with the proportions of `ratio`. */
function largest(ratio: Size, whole: Size): Size {
  const scale = Math.min(whole.width / ratio.width, whole.height / ratio.height);
  return { width: Math.max(1, Math.round(ratio.width * scale)), height: Math.max(1, Math.round(ratio.height * scale)) };
}

/** Returns start and end, in pixels, of an interval that is given in shares of a side. */
function interval(start: number, length: number, side: number): [number, number] {
  const first = Math.min(Math.round(start * side), side - 1);
  return [first, Math.min(side, Math.max(first + 1, Math.round((start + length) * side)))];
}

function share(value: number): number {
  const factor = 10 ** DECIMALS;
  return Math.round(Math.max(0, Math.min(1, value)) * factor) / factor;
}
