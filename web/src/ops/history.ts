import type { RingUpdate } from "./document.ts";

/** Value of one row: `null` where there is none. */
export type Cell = number | null;

/** Rows of the history at one interval, the oldest first. */
export interface Ring {
  readonly seconds: number;
  /** Number of the sample with which the last row ends. */
  readonly end: number;
  readonly length: number;
  readonly columns: ReadonlyMap<string, readonly Cell[]>;
}

/** Maximum number of rows, by the seconds of a row: five minutes, an hour, and a day. */
const ROWS_MAX: Readonly<Record<number, number>> = { 1: 300, 10: 360, 60: 1440 };

/** Series that have no value in an interval without responses, in which all other series are 0. */
const PERCENTILES: ReadonlySet<string> = new Set(["hitP50", "hitP99", "missP50", "missP99"]);

/** Returns an empty ring. */
export function emptyRing(seconds: number): Ring {
  return { seconds, end: 0, length: 0, columns: new Map() };
}

/**
 * Adds the rows of an update that the ring lacks. Rows that lie between both, and that neither
 * contains, are added without values.
 */
export function merge(ring: Ring, update: RingUpdate): Ring {
  const { seconds, end, count } = update;
  const fresh = Math.max(0, Math.min(count, (end - ring.end) / seconds));
  if (fresh === 0) return ring;
  const gap = ring.length === 0 ? 0 : (end - ring.end) / seconds - fresh;
  const max = ROWS_MAX[seconds] ?? count;
  const columns = new Map<string, readonly Cell[]>();
  for (const name of new Set([...ring.columns.keys(), ...Object.keys(update.values)])) {
    const filler: Cell = PERCENTILES.has(name) ? null : 0;
    const old = ring.columns.get(name) ?? Array<Cell>(ring.length).fill(filler);
    const added = update.values[name]?.slice(-fresh) ?? Array<Cell>(fresh).fill(filler);
    columns.set(name, [...old, ...Array<Cell>(Math.min(gap, max)).fill(null), ...added].slice(-max));
  }
  return { seconds, end, length: Math.min(max, ring.length + gap + fresh), columns };
}

/** Returns the values of a series; zeros if the ring has none of it. */
export function column(ring: Ring, name: string): readonly Cell[] {
  const filler: Cell = PERCENTILES.has(name) ? null : 0;
  return ring.columns.get(name) ?? Array<Cell>(ring.length).fill(filler);
}

/** Returns the sums of several series, row by row; `null` where one has no value. */
export function sumOf(ring: Ring, names: readonly string[]): readonly Cell[] {
  const columns = names.map((name) => column(ring, name));
  return Array.from({ length: ring.length }, (_, row) =>
    columns.reduce<Cell>((sum, values) => {
      const value = values[row] ?? null;
      return sum === null || value === null ? null : sum + value;
    }, 0),
  );
}

/** Returns the ratio of each value in `part` to that in `whole`; `null` if the latter is 0. */
export function ratioOf(part: readonly Cell[], whole: readonly Cell[]): readonly Cell[] {
  return part.map((value, row) => (value === null || !whole[row] ? null : value / whole[row]));
}

/** Returns the sum of the values that exist. */
export function total(values: readonly Cell[]): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}

/**
 * Returns at most `count` values for a table. Each is the mean of an equal number of neighbours.
 */
export function condensed(values: readonly Cell[], count: number): readonly Cell[] {
  const size = Math.max(1, Math.ceil(values.length / count));
  const parts: Cell[] = [];
  for (let end = values.length; end > 0; end -= size) {
    const known = values.slice(Math.max(0, end - size), end).filter((value): value is number => value !== null);
    parts.unshift(known.length ? total(known) / known.length : null);
  }
  return parts;
}
