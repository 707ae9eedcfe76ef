/** Part of a long list that is in the document. */
export interface Window {
  /** Index of the first row. */
  readonly first: number;
  /** Index behind the last row. */
  readonly end: number;
  /** Distance of the first row from the top of the list, in pixels. */
  readonly offset: number;
  /** Height of the list, in pixels. */
  readonly height: number;
}

/** Number of rows before and after the visible ones that are in the document too. */
const AHEAD = 5;

/**
 * Height at which lists are cut off, in pixels. Engines limit the height of elements (Firefox to
 * 17.9 million, Blink to 16.7 million at two device pixels per pixel). In longer lists the scroll
 * position is scaled.
 */
const HEIGHT_MAX = 8_000_000;

/** Rows of equal height, and where the reader is. */
export interface Rows {
  readonly count: number;
  readonly rowHeight: number;
  /** Distance from the top of the list to the top of the viewport, in pixels. */
  readonly scrolled: number;
  readonly viewHeight: number;
}

/** Returns the rows that have to be in the document. */
export function windowOf({ count, rowHeight, scrolled, viewHeight }: Rows): Window {
  const full = count * rowHeight;
  const height = Math.min(full, HEIGHT_MAX);
  const top = layoutPosition(full, height, scrolled, viewHeight);
  const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight) - AHEAD));
  const end = Math.max(first, Math.min(count, Math.ceil((top + viewHeight) / rowHeight) + AHEAD));
  return { first, end, offset: first * rowHeight - top + scrolled, height };
}

/** Returns the position in the whole list that belongs to a scroll position. */
function layoutPosition(full: number, height: number, scrolled: number, viewHeight: number): number {
  if (full === height || height <= viewHeight) return scrolled;
  // Above and below the list nothing is scaled.
  const within = Math.min(Math.max(0, scrolled), height - viewHeight);
  return (within / (height - viewHeight)) * (full - viewHeight) + (scrolled - within);
}

/** Returns the distance to scroll so that a row is at the top. */
export function scrollTo({ count, rowHeight, viewHeight }: Omit<Rows, "scrolled">, row: number): number {
  const full = count * rowHeight;
  const height = Math.min(full, HEIGHT_MAX);
  if (full === height || height <= viewHeight) return row * rowHeight;
  return Math.min(1, (row * rowHeight) / (full - viewHeight)) * (height - viewHeight);
}
