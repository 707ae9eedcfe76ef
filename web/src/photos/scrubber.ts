import type { Month } from "./sections.ts";

/** Mark of a month on the scrubber. */
export interface Tick {
  readonly month: string;
  /** Place from 0 (newest) to 1, by the number of pictures before it. */
  readonly at: number;
  /** Year that is written at the mark, if there is room. */
  readonly year: string | null;
}

/** Distance between years that are written, and between marks, in pixels. */
const YEAR_DISTANCE = 22;
const TICK_DISTANCE = 7;

/** Returns the marks of a scrubber that is `height` pixels high. */
export function ticks(months: readonly Month[], height: number): Tick[] {
  const total = months.reduce((sum, [, count]) => sum + count, 0);
  const found: Tick[] = [];
  let before = 0;
  let year = "";
  let lastYear = -Infinity;
  let lastTick = -Infinity;
  for (const [month, count] of months) {
    const at = total > 0 ? before / total : 0;
    const y = at * height;
    const isNewYear = month.slice(0, 4) !== year;
    const hasRoom = isNewYear && y - lastYear >= YEAR_DISTANCE && y <= height - YEAR_DISTANCE / 2;
    year = month.slice(0, 4);
    before += count;
    if (!hasRoom && (y - lastTick < TICK_DISTANCE || y - lastYear < YEAR_DISTANCE / 2)) continue;
    if (hasRoom) {
      lastYear = y;
      // A mark just above a year would touch it.
      const previous = found.at(-1);
      if (previous && previous.year === null && y - previous.at * height < YEAR_DISTANCE / 2) found.pop();
    }
    lastTick = y;
    found.push({ month, at, year: hasRoom ? year : null });
  }
  return found;
}

/** Returns the index of the month that contains the picture `index` of the timeline. */
export function monthAt(months: readonly Month[], index: number): number {
  let end = 0;
  for (let at = 0; at < months.length; at += 1) {
    end += months[at]?.[1] ?? 0;
    if (index < end) return at;
  }
  return Math.max(0, months.length - 1);
}

/** Returns the index in the timeline of a month's first picture. */
export function firstOf(months: readonly Month[], month: number): number {
  return months.slice(0, month).reduce((sum, [, count]) => sum + count, 0);
}

/**
 * Returns the index of the month `wanted`, such as `2019-07` or `2019`, or of the first older one.
 * The months are in descending order.
 */
export function nearest(months: readonly Month[], wanted: string): number {
  const end = wanted.length < 7 ? `${wanted}-99` : wanted;
  const found = months.findIndex(([month]) => month <= end);
  return found < 0 ? Math.max(0, months.length - 1) : found;
}

/** Returns the index of the newest month of the next older (`step` 1) or newer (-1) year. */
export function yearStep(months: readonly Month[], present: number, step: 1 | -1): number {
  const year = (index: number) => months[index]?.[0].slice(0, 4);
  let index = present;
  if (step > 0) {
    while (index < months.length && year(index) === year(present)) index += 1;
    return Math.min(index, months.length - 1);
  }
  const start = (at: number) => {
    while (at > 0 && year(at - 1) === year(at)) at -= 1;
    return at;
  };
  index = start(present);
  return index < present || index === 0 ? index : start(index - 1);
}
