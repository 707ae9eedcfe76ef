import { useRef } from "preact/hooks";

import { url } from "../base.ts";
import { t } from "../i18n/messages.ts";
import { type Point, type Shares, cropText, focusOf, focusText, ratioOf, rectangleOf, turnedSize } from "./geometry.ts";
import { type Parameter, type Recipe, type Size, queryOf, withQuery } from "./recipe.ts";

/** Width in which the picture below the frame is requested, in pixels. */
const WIDTH = 640;
/** Largest height of that picture in the page, in pixels. */
const HEIGHT_MAX = 340;
/** Frame that appears when a person starts to crop. */
const FIRST: Shares = { x: 0.1, y: 0.1, width: 0.8, height: 0.8 };
/** Distance by which an arrow key moves, and smallest side of the frame, as shares. */
const STEP = 0.01;
const SIDE_MIN = 0.02;

/** Edge of the frame that follows the pointer on one axis, or both edges. */
type Edge = "start" | "end" | "both";

/** Part of the frame that a person drags. */
interface Grip {
  readonly name: string;
  readonly x: Edge;
  readonly y: Edge;
}

const MOVE: Grip = { name: "move", x: "both", y: "both" };
const CORNERS: readonly Grip[] = [
  { name: "nw", x: "start", y: "start" },
  { name: "ne", x: "end", y: "start" },
  { name: "sw", x: "start", y: "end" },
  { name: "se", x: "end", y: "end" },
];

interface Props {
  readonly file: string;
  readonly natural: Size;
  readonly recipe: Recipe;
  readonly change: (name: Parameter, value: string) => void;
}

/** The turned picture with the frame of `crop`, or the point of `focus` where it has an effect. */
export function Region({ file, natural, recipe, change }: Props) {
  const stage = useRef<HTMLDivElement>(null);
  const { rotate, flip, flop } = recipe;
  const turned = turnedSize(recipe, natural);
  const aspectRatio = `${turned.width} / ${turned.height}`;
  const shown = { ...EMPTY, rotate, flip, flop, w: String(WIDTH) };
  const rectangle = rectangleOf(recipe, turned);
  const hasFocus = ratioOf(recipe) !== null || (recipe.fit === "cover" && recipe.w !== "" && recipe.h !== "");
  const setFrame = (frame: Shares) => change("crop", cropText(frame));
  return (
    <div class="play-region">
      <div ref={stage} class="play-stage" dir="ltr" style={{ aspectRatio, width: `min(100%, calc(${HEIGHT_MAX}px * ${aspectRatio}))` }}>
        <img src={withQuery(url(file), queryOf(shown))} alt="" draggable={false} />
        {rectangle && <Frame stage={stage} frame={rectangle} change={setFrame} />}
        {hasFocus && !rectangle && <FocusPoint stage={stage} point={focusOf(recipe)} change={(point) => change("focus", focusText(point))} />}
      </div>
      <div class="play-region-buttons">
        <button type="button" class="button" onClick={() => change("crop", rectangle ? "" : cropText(FIRST))}>
          {t(rectangle ? "play.whole" : "play.cropStart")}
        </button>
        <p class="dim">{t(rectangle ? "play.cropHint" : hasFocus ? "play.focusHint" : "play.regionHint")}</p>
      </div>
    </div>
  );
}

const EMPTY: Recipe = { rotate: "", flip: "", flop: "", crop: "", focus: "", w: "", h: "", fit: "", dpr: "", enlarge: "", q: "", format: "" };

/** Element whose box the shares refer to. */
type Stage = Readonly<{ current: HTMLElement | null }>;

interface FrameProps {
  readonly stage: Stage;
  readonly frame: Shares;
  readonly change: (frame: Shares) => void;
}

function Frame({ stage, frame, change }: FrameProps) {
  const drag = (grip: Grip) => dragged(stage, () => (delta) => change(gripped(frame, grip, delta)));
  const keys = (grip: Grip) => (event: KeyboardEvent) => {
    const delta = arrow(event);
    if (delta) change(gripped(frame, grip, delta));
  };
  const style = { left: percent(frame.x), top: percent(frame.y), width: percent(frame.width), height: percent(frame.height) };
  return (
    <div class="play-frame-box" style={style}>
      <button type="button" class="play-move" aria-label={t("play.cropMove")} onPointerDown={drag(MOVE)} onKeyDown={keys(MOVE)} />
      {CORNERS.map((grip) => (
        <button
          key={grip.name}
          type="button"
          class={`play-corner ${grip.name}`}
          aria-label={t("play.cropResize")}
          onPointerDown={drag(grip)}
          onKeyDown={keys(grip)}
        />
      ))}
    </div>
  );
}

function FocusPoint({ stage, point, change }: { stage: Stage; point: Point; change: (point: Point) => void }) {
  const move = (delta: Point) => change({ x: clamp(point.x + delta.x, 0, 1), y: clamp(point.y + delta.y, 0, 1) });
  return (
    <button
      type="button"
      class="play-point"
      style={{ left: percent(point.x), top: percent(point.y) }}
      aria-label={t("play.focusMove")}
      onPointerDown={dragged(stage, () => move)}
      onKeyDown={(event) => {
        const delta = arrow(event);
        if (delta) move(delta);
      }}
    />
  );
}

/**
 * Returns a listener that begins a drag.
 *
 * @param begin called at the start of a drag; returns the function that gets each distance from the start, in shares
 */
function dragged(stage: Stage, begin: () => (delta: Point) => void) {
  return (event: PointerEvent) => {
    const target = event.currentTarget;
    if (!(target instanceof HTMLElement) || !stage.current || event.button !== 0) return;
    const { width, height } = stage.current.getBoundingClientRect();
    const move = begin();
    const abort = new AbortController();
    const { signal } = abort;
    target.setPointerCapture(event.pointerId);
    const follow = ({ clientX, clientY }: PointerEvent) => move({ x: (clientX - event.clientX) / width, y: (clientY - event.clientY) / height });
    target.addEventListener("pointermove", follow, { signal });
    target.addEventListener("pointerup", () => abort.abort(), { signal });
    target.addEventListener("pointercancel", () => abort.abort(), { signal });
  };
}

/** Returns the movement of an arrow key, or `null` for other keys. */
function arrow(event: KeyboardEvent): Point | null {
  const steps: Readonly<Record<string, Point>> = {
    ArrowLeft: { x: -STEP, y: 0 },
    ArrowRight: { x: STEP, y: 0 },
    ArrowUp: { x: 0, y: -STEP },
    ArrowDown: { x: 0, y: STEP },
  };
  const delta = steps[event.key] ?? null;
  if (delta) event.preventDefault();
  return delta;
}

/** Returns the frame after its grip was moved by `delta`. The frame stays inside the picture. */
function gripped(frame: Shares, grip: Grip, delta: Point): Shares {
  const [x, width] = moved(frame.x, frame.width, grip.x, delta.x);
  const [y, height] = moved(frame.y, frame.height, grip.y, delta.y);
  return { x, y, width, height };
}

/** Returns start and length of an interval of which one edge, or both, was moved by `delta`. */
function moved(start: number, length: number, edge: Edge, delta: number): [number, number] {
  if (edge === "both") return [clamp(start + delta, 0, 1 - length), length];
  if (edge === "end") return [start, clamp(length + delta, SIDE_MIN, 1 - start)];
  const at = clamp(start + delta, 0, start + length - SIDE_MIN);
  return [at, start + length - at];
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}

function percent(share: number): string {
  return `${share * 100}%`;
}
