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

/**
 * Returns the path of a line through values from 0 to `max`, with gaps where there is no value, and
 * a dot for a value between two gaps.
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
    const isAlone = !isOpen && (values[at + 1] ?? null) === null;
    path += isAlone ? `M${x} ${y}h.01` : `${isOpen ? "L" : "M"}${x} ${y}`;
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
