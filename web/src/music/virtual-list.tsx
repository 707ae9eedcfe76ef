import { useSignal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { type Window, scrollTo, windowOf } from "./virtual.ts";

/** Commands for a list that is shown. */
export interface ListHandle {
  /** Scrolls until a row is at the top. */
  scrollTo(row: number): void;
}

interface VirtualListProps {
  count: number;
  rowHeight: number;
  label: string;
  /** Returns the content of a row. */
  row: (index: number) => ComponentChildren;
  /** Called with the rows that are in the document, when they change. */
  onWindow?: ((first: number, end: number) => void) | undefined;
  handle?: { current: ListHandle | null };
  /** True if the rows are the items of the list; false if each row contains several. */
  isOfItems?: boolean;
  /** Selector of the element around the list that scrolls; without it the page does. */
  scroller?: string;
}

/** Height of the bar that covers the top of the page, in pixels, with some distance. */
const COVERED = 116;

/** Maximum number of rendered rows that are kept. */
const ROWS_KEPT_MAX = 200;

/** List of rows of equal height. Only rows near the viewport are in the document. */
export function VirtualList({ count, rowHeight, label, row, onWindow, handle, isOfItems = true, scroller }: VirtualListProps) {
  const list = useRef<HTMLDivElement>(null);
  const shown = useSignal<Window>({ first: 0, end: 0, offset: 0, height: count * rowHeight });
  const focused = useSignal(-1);
  const view = () => {
    const around = scroller ? list.current?.closest(scroller) : null;
    const top = (list.current?.getBoundingClientRect().top ?? 0) - (around?.getBoundingClientRect().top ?? 0);
    return { around: around ?? document.documentElement, top, height: around?.clientHeight ?? innerHeight };
  };
  const measure = () => {
    const { top, height: viewHeight } = view();
    const next = windowOf({ count, rowHeight, scrolled: -top, viewHeight });
    const { first, end, offset } = shown.peek();
    if (next.first !== first || next.end !== end) onWindow?.(next.first, next.end);
    if (next.first !== first || next.end !== end || next.offset !== offset || next.height !== shown.peek().height) shown.value = next;
  };
  const latest = useRef(measure);
  latest.current = measure;
  useFrames(latest);
  useLayoutEffect(measure, [count, rowHeight, row]);
  useEffect(() => {
    // A list in a dialog has no size before the dialog is shown.
    const observer = new ResizeObserver(() => latest.current());
    observer.observe(view().around);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (!handle) return;
    handle.current = {
      scrollTo(index) {
        const { around, top, height: viewHeight } = view();
        const within = scrollTo({ count, rowHeight, viewHeight }, index);
        around.scrollTo({ top: top + around.scrollTop + within - (scroller ? rowHeight : COVERED) });
      },
    };
  }, [count, rowHeight]);
  const { first, end, offset, height } = shown.value;
  const rendered = useRendered(row, `${count} ${rowHeight} ${isOfItems}`);
  const indices = Array.from({ length: end - first }, (_, index) => first + index);
  // The row that has the focus stays, so that the keyboard does not lose its place.
  const isApart = focused.value >= 0 && focused.value < count && (focused.value < first || focused.value >= end);
  if (isApart) indices.push(focused.value);
  return (
    <div
      ref={list}
      class="virtual"
      role="list"
      aria-label={label}
      style={{ blockSize: `${height}px` }}
      onFocusIn={(event) => (focused.value = indexOf(event.target))}
      onFocusOut={() => (focused.value = -1)}
      onKeyDown={(event) => moveFocus(event, list.current)}
    >
      {indices.map((index) => {
        const y = offset + (index - first) * rowHeight;
        return rendered(index, y, () => (
          <div
            key={index}
            data-index={index}
            role={isOfItems ? "listitem" : "presentation"}
            {...(isOfItems ? { "aria-setsize": count, "aria-posinset": index + 1 } : {})}
            style={{ transform: `translateY(${y}px)`, blockSize: `${rowHeight}px` }}
          >
            {row(index)}
          </div>
        ));
      })}
    </div>
  );
}

/** Row that has been rendered at a position. */
interface Rendered {
  readonly y: number;
  readonly node: VNode;
}

/**
 * Returns a function that renders a row, or returns the row as it was rendered before: Preact skips
 * nodes that it has seen, so that scrolling costs only the rows that appear.
 */
function useRendered(row: unknown, layout: string): (index: number, y: number, render: () => VNode) => VNode {
  const rows = useMemo(() => new Map<number, Rendered>(), [row, layout]);
  return (index, y, render) => {
    const known = rows.get(index);
    if (known?.y === y) return known.node;
    const node = render();
    if (rows.size > ROWS_KEPT_MAX) rows.clear();
    rows.set(index, { y, node });
    return node;
  };
}

/** Runs a function in the frame after the page was scrolled or resized. */
function useFrames(latest: { readonly current: () => void }): void {
  useEffect(() => {
    let frame = 0;
    const ask = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        latest.current();
      });
    };
    // Captured, because the scrolling of elements does not bubble.
    addEventListener("scroll", ask, { passive: true, capture: true });
    addEventListener("resize", ask);
    ask();
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", ask, { capture: true });
      removeEventListener("resize", ask);
    };
  }, []);
}

function indexOf(target: EventTarget | null): number {
  const row = target instanceof Element ? target.closest<HTMLElement>("[data-index]") : null;
  return Number(row?.dataset["index"] ?? -1);
}

/** Moves the focus to the row above or below with the arrow keys. */
function moveFocus(event: KeyboardEvent, list: HTMLElement | null): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const index = indexOf(event.target);
  const goal = list?.querySelector<HTMLElement>(`[data-index="${index + step}"] .track-title`);
  if (step === 0 || index < 0 || !goal) return;
  event.preventDefault();
  goal.focus({ preventScroll: true });
  goal.scrollIntoView({ block: "nearest" });
}

/** Returns the inner width of an element that is observed by `ref`. */
export function useWidth(): { ref: { current: HTMLDivElement | null }; width: number } {
  const ref = useRef<HTMLDivElement>(null);
  const width = useSignal(0);
  useLayoutEffect(() => {
    if (!ref.current) return undefined;
    width.value = ref.current.clientWidth;
    const observer = new ResizeObserver(([entry]) => (width.value = entry?.contentRect.width ?? 0));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return { ref, width: width.value };
}
