/**
 * Relation between the height of the layout and the height that can be scrolled.
 *
 * Browsers truncate elements that are higher than about 16 million pixels. Up to `SCROLL_MAX` both
 * heights are the same. Above it, the middle of the layout is compressed, and its ends are not.
 */
export interface Spaces {
  /** Greatest position of the layout's first visible line. */
  readonly layout: number;
  /** Greatest scroll position. */
  readonly scroll: number;
}

/** Greatest height of the scrolled element, in pixels. */
export const SCROLL_MAX = 8_000_000;
/** Height at each end in which both spaces have the same scale. */
const END = 1_000_000;

/** Returns the spaces for a layout of this height in a window. */
export function spacesFor(height: number, viewport: number): Spaces {
  return { layout: Math.max(0, height - viewport), scroll: Math.max(0, Math.min(height, SCROLL_MAX) - viewport) };
}

/**
 * Returns the position of the layout that belongs to a scroll position. Positions beyond the ends,
 * at which something above or below the layout is shown, keep their distance from the end.
 */
export function toLayout({ layout, scroll }: Spaces, at: number): number {
  return convert(at, scroll, layout);
}

/** Returns the scroll position that belongs to a position of the layout. */
export function toScroll({ layout, scroll }: Spaces, at: number): number {
  return convert(at, layout, scroll);
}

function convert(at: number, from: number, to: number): number {
  if (from === to || at <= END) return at;
  if (at >= from - END) return to - (from - at);
  return END + ((at - END) * (to - 2 * END)) / (from - 2 * END);
}

/**
 * Position in both spaces. Small steps of the scroll position move the layout by as much, so that
 * the wheel and the finger feel the same everywhere; large ones are jumps.
 */
export interface Position {
  readonly scroll: number;
  readonly layout: number;
}

/** Returns the position after the window was scrolled to `scroll`. */
export function follow(spaces: Spaces, before: Position, scroll: number, jump: number): Position {
  const step = scroll - before.scroll;
  if (Math.abs(step) > jump) return { scroll, layout: toLayout(spaces, scroll) };
  const first = Math.min(0, scroll);
  const last = spaces.layout + Math.max(0, scroll - spaces.scroll);
  return { scroll, layout: Math.max(first, Math.min(last, before.layout + step)) };
}

/**
 * Returns whether the window cannot be scrolled further in a direction in which the layout goes on.
 */
export function isStuck(spaces: Spaces, { scroll, layout }: Position): boolean {
  return (scroll <= 0 && layout > Math.max(0, scroll) + 0.5) || (scroll >= spaces.scroll - 1 && layout < spaces.layout - 1.5);
}
