/** Distances of a justified layout, in pixels. */
export interface Metrics {
  /** Width that every row but the last fills. */
  readonly width: number;
  /** Height that rows come close to. */
  readonly target: number;
  /** Distance between pictures and between rows. */
  readonly gap: number;
}

/** Positions of pictures in rows. */
export interface Boxes {
  /** Distance of each picture from the start of its row. */
  readonly left: Uint16Array;
  readonly width: Uint16Array;
  /** Index of the first picture of each row, and the number of pictures at the end. */
  readonly rows: Uint32Array;
  /** Position of each row, and the height of all rows at the end; both include the gap below. */
  readonly tops: Float64Array;
}

/** Ratio, in thousandths, that is assumed for a picture whose ratio is unknown. */
export const UNKNOWN_RATIO = 1333;
/** Wider pictures are cut to this ratio. */
export const RATIO_MAX = 3;
/** Taller pictures are cut to this ratio. */
export const RATIO_MIN = 0.45;

/** Returns the ratio of the box of a picture whose ratio is `thousandths`. */
export function boxRatio(thousandths: number): number {
  return Math.min(RATIO_MAX, Math.max(RATIO_MIN, (thousandths || UNKNOWN_RATIO) / 1000));
}

/**
 * Distributes pictures over rows that fill the width, in order, row by row.
 *
 * @param ratios width by height of each picture in thousandths; 0 if unknown
 * @param isEnd true if the last row need not fill the width
 */
export function layOut(ratios: ArrayLike<number>, metrics: Metrics, isEnd: boolean): Boxes {
  const starts = rowStarts(ratios, metrics, isEnd);
  const rows = Uint32Array.from(starts);
  const boxes: Boxes = {
    left: new Uint16Array(ratios.length),
    width: new Uint16Array(ratios.length),
    rows,
    tops: new Float64Array(rows.length),
  };
  for (let row = 0; row + 1 < rows.length; row += 1) {
    const isLast = isEnd && row + 2 === rows.length;
    const height = placeRow(ratios, metrics, boxes, row, isLast);
    boxes.tops[row + 1] = (boxes.tops[row] ?? 0) + height + metrics.gap;
  }
  return boxes;
}

/** Returns the height at which pictures with this sum of ratios fill the width. */
function fillHeight(sum: number, count: number, { width, gap }: Metrics): number {
  return (width - gap * (count - 1)) / sum;
}

/** Returns the index of the first picture of each row, and the number of pictures. */
function rowStarts(ratios: ArrayLike<number>, metrics: Metrics, isEnd: boolean): number[] {
  const { target } = metrics;
  const starts: number[] = [];
  let first = 0;
  let sum = 0;
  for (let index = 0; index < ratios.length; index += 1) {
    const ratio = boxRatio(ratios[index] ?? 0);
    const count = index - first + 1;
    const height = fillHeight(sum + ratio, count, metrics);
    sum += ratio;
    if (height > target) continue;
    // The row ends with this picture or with the one before, whichever is nearer to the target.
    const before = count > 1 ? fillHeight(sum - ratio, count - 1, metrics) : Infinity;
    starts.push(first);
    const isNearerBefore = before / target < target / height && before < target * 1.6;
    first = isNearerBefore ? index : index + 1;
    sum = isNearerBefore ? ratio : 0;
  }
  if (first < ratios.length) {
    starts.push(first);
    if (!isEnd) spreadRest(ratios, metrics, starts);
  }
  starts.push(ratios.length);
  return starts;
}

/** Distributes the last pictures, which do not fill a row, over the row before or over two rows. */
function spreadRest(ratios: ArrayLike<number>, metrics: Metrics, starts: number[]): void {
  if (starts.length < 2) return;
  starts.pop();
  const first = starts[starts.length - 1] ?? 0;
  const end = ratios.length;
  let sum = 0;
  for (let index = first; index < end; index += 1) sum += boxRatio(ratios[index] ?? 0);
  if (fillHeight(sum, end - first, metrics) >= metrics.target * 0.7) return;
  let half = 0;
  let middle = first;
  while (middle < end - 1 && (middle === first || half < sum / 2)) {
    half += boxRatio(ratios[middle] ?? 0);
    middle += 1;
  }
  starts.push(middle);
}

/** Sets the boxes of a row and returns its height. */
function placeRow(ratios: ArrayLike<number>, metrics: Metrics, boxes: Boxes, row: number, isLast: boolean): number {
  const [start, end] = [boxes.rows[row] ?? 0, boxes.rows[row + 1] ?? 0];
  let sum = 0;
  for (let index = start; index < end; index += 1) sum += boxRatio(ratios[index] ?? 0);
  const fill = fillHeight(sum, end - start, metrics);
  const exact = isLast ? Math.min(fill, metrics.target) : fill;
  // Edges are rounded, not widths, so that rounding errors do not add up.
  let edge = 0;
  for (let index = start; index < end; index += 1) {
    const next = edge + boxRatio(ratios[index] ?? 0) * exact;
    boxes.left[index] = Math.round(edge);
    boxes.width[index] = Math.max(1, Math.round(next) - Math.round(edge));
    edge = next + metrics.gap;
  }
  return Math.max(1, Math.round(exact));
}

/** Returns the index of the row that contains the position `y`, or of the nearest one. */
export function rowAt({ tops }: Boxes, y: number): number {
  return lastAtMost(tops, y, Math.max(0, tops.length - 2));
}

/** Returns the row of a picture. */
export function rowOf({ rows }: Boxes, index: number): number {
  return lastAtMost(rows, index, Math.max(0, rows.length - 2));
}

/** Returns the greatest index up to `last` whose value is at most `value`, or 0. */
export function lastAtMost(sorted: ArrayLike<number>, value: number, last: number): number {
  let low = 0;
  let high = last;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((sorted[middle] ?? 0) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}
