import { useRef } from "preact/hooks";

import { url } from "../base.ts";
import { t } from "../i18n/messages.ts";
import type { Edge, Fractions, Point } from "./geometry.ts";
import { WHOLE, clamp, clipped, cropText, focusOf, focusText, moveEdges, quartersOf, ratioOf, rectangleOf, turnedSize } from "./geometry.ts";
import { type Parameter, type Recipe, type Size, queryOf, recipeOf, withQuery } from "./recipe.ts";

/** Width in which the picture below the frame is requested, in pixels. */
const WIDTH = 640;
/** Largest height of that picture in the page, in pixels. */
const HEIGHT_MAX = 340;
/** Frame that appears when a person starts to crop. */
const FIRST: Fractions = { x: 0.1, y: 0.1, width: 0.8, height: 0.8 };
/** Distance by which an arrow key moves, as a fraction. */
const STEP = 0.01;

/** Corner of the frame that a person drags. */
interface Corner {
  readonly name: "nw" | "ne" | "sw" | "se";
  readonly x: Edge;
  readonly y: Edge;
}

const BOTH = { x: "both", y: "both" } as const;
const CORNERS: readonly Corner[] = [
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

/** The turned picture with the frame of `crop`, and the point of `focus` where it has an effect. */
export function Region({ file, natural, recipe, change }: Props) {
  const stage = useRef<HTMLDivElement>(null);
  const { flip, flop } = recipe;
  const turned = turnedSize(recipe, natural);
  const aspectRatio = `${turned.width} / ${turned.height}`;
  const shown = { ...recipeOf(new URLSearchParams()), rotate: String(quartersOf(recipe) || ""), flip, flop, page: recipe.page, w: String(WIDTH) };
  const named = rectangleOf(recipe, turned);
  const frame = named && clipped(named);
  const hasFocus = ratioOf(recipe) !== null || (recipe.fit === "cover" && recipe.w !== "" && recipe.h !== "");
  return (
    <div class="play-region">
      <div ref={stage} class="play-stage" dir="ltr" style={{ aspectRatio, width: `min(100%, calc(${HEIGHT_MAX}px * ${aspectRatio}))` }}>
        <img src={withQuery(url(file), queryOf(shown))} alt="" draggable={false} />
        {frame && <Frame stage={stage} frame={frame} change={(next) => change("crop", cropText(next))} />}
        {hasFocus && <FocusPoint stage={stage} part={frame ?? WHOLE} point={focusOf(recipe)} change={(point) => change("focus", focusText(point))} />}
      </div>
      <div class="play-region-buttons">
        <button type="button" class="button" onClick={() => change("crop", frame ? "" : cropText(FIRST))}>
          {t(frame ? "play.whole" : "play.cropStart")}
        </button>
        <p class="dim">
          {frame && t("play.cropHint")} {hasFocus ? t("play.focusHint") : !frame && t("play.regionHint")}
        </p>
      </div>
    </div>
  );
}

/** Element whose box the fractions refer to. */
type Stage = Readonly<{ current: HTMLElement | null }>;

interface FrameProps {
  readonly stage: Stage;
  readonly frame: Fractions;
  readonly change: (frame: Fractions) => void;
}

function Frame({ stage, frame, change }: FrameProps) {
  const listeners = (edges: Pick<Corner, "x" | "y">) => moveListeners(stage, (delta) => change(moveEdges(frame, edges, delta)));
  const style = { left: percent(frame.x), top: percent(frame.y), width: percent(frame.width), height: percent(frame.height) };
  return (
    <div class="play-frame-box" style={style}>
      <button type="button" class="play-move" aria-label={t("play.cropMove")} {...listeners(BOTH)} />
      {CORNERS.map((corner) => (
        <button key={corner.name} type="button" class={`play-corner ${corner.name}`} aria-label={t(`play.corner.${corner.name}`)} {...listeners(corner)} />
      ))}
    </div>
  );
}

interface FocusPointProps {
  readonly stage: Stage;
  /** Part of the picture in which the point is. */
  readonly part: Fractions;
  readonly point: Point;
  readonly change: (point: Point) => void;
}

function FocusPoint({ stage, part, point, change }: FocusPointProps) {
  const move = (delta: Point) => change({ x: clamp(point.x + delta.x / part.width, 0, 1), y: clamp(point.y + delta.y / part.height, 0, 1) });
  return (
    <button
      type="button"
      class="play-point"
      style={{ left: percent(part.x + point.x * part.width), top: percent(part.y + point.y * part.height) }}
      aria-label={t("play.focusMove")}
      {...moveListeners(stage, move)}
    />
  );
}

/**
 * Returns the listeners of an element that a person drags or moves with the arrow keys.
 *
 * @param move gets the distance from the start of the drag, or of a key, in fractions of the stage
 */
function moveListeners(stage: Stage, move: (delta: Point) => void) {
  const onPointerDown = (event: PointerEvent) => {
    const target = event.currentTarget;
    if (!(target instanceof HTMLElement) || !stage.current || event.button !== 0) return;
    const { width, height } = stage.current.getBoundingClientRect();
    const abort = new AbortController();
    const { signal } = abort;
    target.setPointerCapture(event.pointerId);
    const follow = ({ clientX, clientY }: PointerEvent) => move({ x: (clientX - event.clientX) / width, y: (clientY - event.clientY) / height });
    target.addEventListener("pointermove", follow, { signal });
    target.addEventListener("pointerup", () => abort.abort(), { signal });
    target.addEventListener("pointercancel", () => abort.abort(), { signal });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const delta = arrow(event);
    if (delta) move(delta);
  };
  return { onPointerDown, onKeyDown };
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

function percent(fraction: number): string {
  return `${fraction * 100}%`;
}
