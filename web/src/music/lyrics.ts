/** Line of a track's lyrics, as in docs/api.md. */
export interface Line {
  /** Time at which the line appears; absent if the lyrics are not synced. */
  readonly startMs?: number;
  readonly text: string;
}

/** Lyrics of a track, as in docs/api.md. */
export interface Lyrics {
  readonly synced: boolean;
  readonly lines: readonly Line[];
}

/** Time after the last scroll by the user in which lyrics do not scroll, in milliseconds. */
const HOLD_MS = 4000;

/** Returns whether lyrics may scroll to the line that is sung. The times are in milliseconds. */
export function mayFollow(scrolledMs: number, nowMs: number): boolean {
  return nowMs - scrolledMs >= HOLD_MS;
}

/**
 * Returns the index of the line that is sung at a position, or -1 before the first line and for
 * lines without times. `lines` are in the order of their times.
 */
export function lineAt(lines: readonly Line[], positionMs: number): number {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lines[middle]?.startMs ?? Infinity) <= positionMs) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
