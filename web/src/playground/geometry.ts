// Orientation and crop of a picture, computed as the server does. Must agree with
// crates/images/image-plan.

import type { Recipe, Size } from "./recipe.ts";

/** Rectangle in pixels. */
export interface Rect extends Size {
  readonly x: number;
  readonly y: number;
}

/** Rectangle in fractions of the picture's sides, from 0 to 1. */
export interface Fractions {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export const WHOLE: Fractions = { x: 0, y: 0, width: 1, height: 1 };
/** Text of the whole picture for `crop`, with which the server crops nothing. */
export const WHOLE_TEXT = "0.0,0,1,1";
const CENTRE: Point = { x: 0.5, y: 0.5 };
/** Smallest side of a frame, as a fraction. */
const SIDE_MIN = 0.02;
/** Decimals of a fraction in a URL. */
const DECIMALS = 4;

/** Returns the rotation in degrees, from 0 up to but not including 360. */
function degreesOf({ rotate }: Recipe): number {
  return ((Number(rotate) % 360) + 360) % 360 || 0;
}

/** Returns the rotation before the crop in degrees: 0, 90, 180 or 270, or 0 for any other angle. */
export function quartersOf(recipe: Recipe): number {
  const degrees = degreesOf(recipe);
  return degrees % 90 === 0 ? degrees : 0;
}

/** Returns whether the recipe rotates the scaled picture, by an angle that is not a multiple of 90°. */
export function isAngled(recipe: Recipe): boolean {
  return degreesOf(recipe) !== quartersOf(recipe);
}

/** Returns the size of the smallest upright frame around a picture that `rotate` turns by an angle. */
export function angledSize(recipe: Recipe, size: Size): Size {
  if (!isAngled(recipe)) return size;
  const radians = (degreesOf(recipe) * Math.PI) / 180;
  const [sine, cosine] = [Math.abs(Math.sin(radians)), Math.abs(Math.cos(radians))];
  // A rounding error must not add a column or row.
  const side = (length: number) => Math.max(1, Math.ceil(length - 0.01));
  return { width: side(size.width * cosine + size.height * sine), height: side(size.width * sine + size.height * cosine) };
}

/** Returns whether the recipe rotates or mirrors the picture before the crop. */
export function isTurned(recipe: Recipe): boolean {
  return quartersOf(recipe) !== 0 || recipe.flip === "true" || recipe.flop === "true";
}

/** Returns the size of a picture after a rotation by a multiple of 90°. */
export function turnedSize(recipe: Recipe, { width, height }: Size): Size {
  return quartersOf(recipe) % 180 === 90 ? { width: height, height: width } : { width, height };
}

/** Returns the aspect ratio that `crop` names, or `null` if it names none. */
export function ratioOf({ crop }: Recipe): Size | null {
  const [, width, height] = /^(\d+):(\d+)$/.exec(crop) ?? [];
  return Number(width) > 0 && Number(height) > 0 ? { width: Number(width), height: Number(height) } : null;
}

/** Returns the rectangle that `crop` names in a picture of the size `turned`, or `null` if it names none. */
export function rectangleOf({ crop }: Recipe, turned: Size): Fractions | null {
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

/** Returns the rectangle that `crop` keeps of a picture of the size `natural`, in pixels of the turned picture. */
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
  const start = (side: number, part: number, at: number) => Math.max(0, Math.min(side - part, Math.floor(side * at - part / 2)));
  return { x: start(whole.width, kept.width, focus.x), y: start(whole.height, kept.height, focus.y), ...kept };
}

/** Returns the text of a rectangle for `crop`. */
export function cropText({ x, y, width, height }: Fractions): string {
  const [left, top] = [rounded(x), rounded(y)];
  const [w, h] = [rounded(Math.min(1 - left, width)), rounded(Math.min(1 - top, height))];
  const texts = [left, top, w, h].map(String);
  // Without a decimal point, the numbers would be pixels.
  if (!texts.some((text) => text.includes("."))) texts[0] = `${left}.0`;
  return texts.join(",");
}

/** Returns the text of a point for `focus`; empty for the centre. */
export function focusText({ x, y }: Point): string {
  return x === CENTRE.x && y === CENTRE.y ? "" : `${rounded(x)},${rounded(y)}`;
}

/** Returns the largest size inside `whole` with the aspect ratio `ratio`. */
function largest(ratio: Size, whole: Size): Size {
  const scale = Math.min(whole.width / ratio.width, whole.height / ratio.height);
  return { width: Math.max(1, Math.round(ratio.width * scale)), height: Math.max(1, Math.round(ratio.height * scale)) };
}

/** Returns start and end, in pixels, of an interval that is given in fractions of a side. */
function interval(start: number, length: number, side: number): [number, number] {
  const first = Math.min(Math.round(start * side), side - 1);
  return [first, Math.min(side, Math.max(first + 1, Math.round((start + length) * side)))];
}

function rounded(value: number): number {
  const factor = 10 ** DECIMALS;
  return Math.round(clamp(value, 0, 1) * factor) / factor;
}

/** Edge of a frame that follows the pointer on one axis, or both edges. */
export type Edge = "start" | "end" | "both";

/**
 * Returns the part of a rectangle that is inside the picture. A rectangle outside the picture becomes
 * a narrow one at the nearest edge.
 */
export function clipped({ x, y, width, height }: Fractions): Fractions {
  const [left, right] = clippedInterval(x, width);
  const [top, bottom] = clippedInterval(y, height);
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** Returns start and end of the part of an interval that is between 0 and 1. */
function clippedInterval(start: number, length: number): [number, number] {
  const least = Math.min(SIDE_MIN, length);
  if (start >= 1) return [1 - least, 1];
  if (start + length <= 0) return [0, least];
  return [Math.max(0, start), Math.min(1, start + length)];
}

/** Returns the frame after its edges were moved by `delta`. The frame stays inside the picture. */
export function moveEdges(frame: Fractions, edges: { readonly x: Edge; readonly y: Edge }, delta: Point): Fractions {
  const [x, width] = moveEdge(frame.x, frame.width, edges.x, delta.x);
  const [y, height] = moveEdge(frame.y, frame.height, edges.y, delta.y);
  return { x, y, width, height };
}

/** Returns start and length of an interval of which one edge, or both, was moved by `delta`. */
function moveEdge(start: number, length: number, edge: Edge, delta: number): [number, number] {
  if (edge === "both") return [clamp(start + delta, 0, 1 - length), length];
  // A frame that is smaller than the smallest one does not jump.
  const least = Math.min(SIDE_MIN, length);
  if (edge === "end") return [start, clamp(length + delta, least, 1 - start)];
  const at = clamp(start + delta, 0, start + length - least);
  return [at, start + length - at];
}

export function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}
