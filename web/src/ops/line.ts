import type { Cell } from "./history.ts";

/** Returns the largest value, or 0. */
export function peak(values: readonly Cell[]): number {
  return values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
}

/** Size of the drawing in units of the path. */
export interface Box {
  readonly width: number;
  readonly height: number;
}

/** Returns the indices of the values that have no neighbour, through which no line can be drawn. */
export function lone(values: readonly Cell[]): readonly number[] {
  const has = (at: number) => (values[at] ?? null) !== null;
  return [...values.keys()].filter((at) => has(at) && !has(at - 1) && !has(at + 1));
}

/** Returns the path of a dot for each value without a neighbour. */
export function dotPath(values: readonly Cell[], max: number, { width, height }: Box): string {
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  const dots = lone(values).map((at) => {
    // A single value is the newest one, so it is drawn at the right edge.
    const x = values.length > 1 ? at * step : width;
    const y = height - (max > 0 ? Math.min(1, (values[at] ?? 0) / max) * height : 0);
    return `M${round(Math.min(Math.max(3, x), width - 3))} ${round(y)}h.01`;
  });
  return dots.join("");
}

/**
 * Returns the path of a line through values from 0 to `max`, with gaps where there is no value.
 */
export function linePath(values: readonly Cell[], max: number, { width, height }: Box): string {
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  let path = "";
  let isOpen = false;
  for (const [at, value] of values.entries()) {
    if (value === null) {
      isOpen = false;
      continue;
    }
    const x = round(at * step);
    const y = round(height - (max > 0 ? Math.min(1, value / max) * height : 0));
    path += `${isOpen ? "L" : "M"}${x} ${y}`;
    isOpen = true;
  }
  return path;
}

/** Returns the path of the area between two lines, such as two percentiles, piece by piece. */
export function bandPath(low: readonly Cell[], high: readonly Cell[], max: number, box: Box): string {
  const step = low.length > 1 ? box.width / (low.length - 1) : 0;
  const y = (value: number) => round(box.height - (max > 0 ? Math.min(1, value / max) * box.height : 0));
  let path = "";
  let piece: number[] = [];
  const close = () => {
    if (piece.length > 1) {
      const there = piece.map((at) => `${round(at * step)} ${y(high[at] ?? 0)}`);
      const back = piece.reverse().map((at) => `${round(at * step)} ${y(low[at] ?? 0)}`);
      path += `M${[...there, ...back].join("L")}Z`;
    }
    piece = [];
  };
  for (let at = 0; at < low.length; at += 1) {
    if ((low[at] ?? null) === null || (high[at] ?? null) === null) close();
    else piece.push(at);
  }
  close();
  return path;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
