export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * Position of a picture in the viewer: its size relative to the fitted size, and the distance of
 * its middle from that of the stage.
 */
export interface Pose extends Point {
  readonly zoom: number;
}

export const FITTED: Pose = { zoom: 1, x: 0, y: 0 };

/** Widths in which the viewer requests pictures. */
export const RUNGS: readonly number[] = [960, 1600, 2560, 3840];

/** Returns the size in which a picture fits into the stage. Small pictures are not enlarged. */
export function fitted(picture: Size, stage: Size): Size {
  const scale = Math.min(1, stage.width / picture.width, stage.height / picture.height);
  return { width: picture.width * scale, height: picture.height * scale };
}

/**
 * Returns the maximum zoom, at which a pixel of the picture covers three pixels of the page; at
 * least 2.
 */
export function zoomMax(picture: Size, fit: Size): number {
  return Math.max(2, (3 * picture.width) / fit.width);
}

/**
 * Returns the zoom for a double tap: the original size, up to 4, if that is notably larger than the
 * fitted size; else 2.
 */
export function zoomClose(picture: Size, fit: Size): number {
  const exact = picture.width / fit.width;
  return exact > 1.4 ? Math.min(exact, 4) : 2;
}

/** Returns the pose zoomed to `zoom` so that the picture's part below `point` stays there. */
export function zoomTo(pose: Pose, zoom: number, point: Point): Pose {
  const factor = zoom / pose.zoom;
  return { zoom, x: point.x - (point.x - pose.x) * factor, y: point.y - (point.y - pose.y) * factor };
}

/** Turn of a wheel, as `WheelEvent` describes it. */
export type Turn = Pick<WheelEvent, "deltaX" | "deltaY" | "deltaMode" | "ctrlKey" | "metaKey">;

/**
 * Returns the factor by which a turn of the wheel zooms; 1 if it turns sideways. A trackpad reports a
 * pinch as a turn with Ctrl, in smaller steps than those of a wheel.
 */
export function wheelFactor({ deltaX, deltaY, deltaMode, ctrlKey, metaKey }: Turn): number {
  if (Math.abs(deltaX) > Math.abs(deltaY)) return 1;
  const isPixels = deltaMode === 0;
  return Math.exp(-deltaY * (isPixels ? (ctrlKey || metaKey ? 0.006 : 0.002) : 0.05));
}

/** Returns the pose with no more empty space than needed on any side. */
export function contained(pose: Pose, fit: Size, stage: Size, max: number): Pose {
  const zoom = Math.min(max, Math.max(1, pose.zoom));
  const limit = (size: number, space: number) => Math.max(0, (size * zoom - space) / 2);
  const bound = (value: number, most: number) => Math.min(most, Math.max(-most, value)) || 0;
  return { zoom, x: bound(pose.x, limit(fit.width, stage.width)), y: bound(pose.y, limit(fit.height, stage.height)) };
}

/**
 * Returns the width to request, so that a picture of the width `natural` is sharp on `shown` pixels
 * of the device; 0 stands for the full size.
 */
export function rung(shown: number, natural: number): number {
  const wanted = Math.min(Math.ceil(shown), natural);
  return RUNGS.find((it) => it >= wanted) ?? 0;
}

/** Returns whether the width `one` means more pixels than `other`; 0 stands for the full size. */
export function isHigher(one: number, other: number): boolean {
  return (one || Infinity) > (other || Infinity);
}

/** Direction of a gesture that has moved far enough to have one. */
export type Axis = "none" | "across" | "down";

/** Returns the direction of a gesture. */
export function axisOf({ x, y }: Point): Axis {
  if (Math.hypot(x, y) < 8) return "none";
  return Math.abs(x) > Math.abs(y) ? "across" : "down";
}

/** Returns by how many pictures a swipe turns: -1 to the previous one, 1 to the next, or 0. */
export function turnOf(moved: number, speed: number, width: number): -1 | 0 | 1 {
  const isFar = Math.abs(moved) > width / 3;
  const isFast = Math.abs(speed) > 0.4 && Math.sign(speed) === Math.sign(moved);
  if (!isFar && !isFast) return 0;
  return moved < 0 ? 1 : -1;
}

/** Speed in pixels per millisecond, from the positions of the last 100 ms. */
export class SpeedMeter {
  readonly #samples: { x: number; y: number; at: number }[] = [];

  add({ x, y }: Point, at: number): void {
    this.#samples.push({ x, y, at });
    while (this.#samples.length > 2 && at - (this.#samples[0]?.at ?? at) > 100) this.#samples.shift();
  }

  /** Returns the speed, which is 0 after a pause. */
  speed(now: number): Point {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || !last || now - last.at > 60) return { x: 0, y: 0 };
    const time = Math.max(1, last.at - first.at);
    return { x: (last.x - first.x) / time, y: (last.y - first.y) / time };
  }
}
