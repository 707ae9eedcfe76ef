import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";

import { Failure } from "../ui/message.tsx";
import { AlbumSkeleton } from "./album-card.tsx";
import type { PagedList } from "./pages.ts";
import { type ListHandle, VirtualList, useWidth } from "./virtual-list.tsx";

/** Height of the texts below a cover, with the gap to the next row, in pixels. */
const TEXT_HEIGHT = 74;
const GAP = 20;

/** List that a grid shows: one that is loaded in pages, or a whole one. */
type GridList<T> = Pick<PagedList<T>, "at" | "want" | "total" | "error" | "version">;

interface GridProps<T> {
  list: GridList<T>;
  label: string;
  /** Returns the content of a cell that is `width` pixels wide. */
  card: (item: T, width: number) => ComponentChildren;
  empty: ComponentChildren;
  /** Receives a function that scrolls to an item. */
  handle?: { current: ((item: number) => void) | null };
}

/** Returns a list of these items; `undefined` stands for items that are being loaded. */
export function wholeList<T>(items: readonly T[] | undefined): GridList<T> {
  return { at: (index) => items?.[index], want: () => undefined, total: signal(items?.length ?? null), error: signal(null), version: signal(0) };
}

/** Grid of covers. Only rows near the viewport are in the document. */
export function Grid<T>({ list, label, card, empty, handle }: GridProps<T>) {
  const { ref, width } = useWidth();
  const rows: { current: ListHandle | null } = { current: null };
  const gap = width < 600 ? 14 : GAP;
  const columns = Math.max(2, Math.floor((width + gap) / ((width < 600 ? 140 : 172) + gap)));
  const cell = (width - gap * (columns - 1)) / columns;
  const total = list.total.value ?? columns * 4;
  void list.version.value;
  if (handle) handle.current = (item) => rows.current?.scrollTo(Math.floor(item / columns));
  const isFailed = list.error.value && list.total.value === null;
  return (
    <div ref={ref}>
      {isFailed && <Failure error={list.error.value} retry={() => list.want(0, 1)} />}
      {list.total.value === 0 && empty}
      {!isFailed && total > 0 && width > 0 && (
        <VirtualList
          count={Math.ceil(total / columns)}
          rowHeight={Math.ceil(cell) + TEXT_HEIGHT}
          label={label}
          isOfItems={false}
          handle={rows}
          onWindow={(first, end) => list.want(first * columns, Math.min(total, end * columns))}
          row={(row) => (
            <div class="cells" style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`, columnGap: `${gap}px` }}>
              {Array.from({ length: Math.min(columns, total - row * columns) }, (_, column) => {
                const item = list.at(row * columns + column);
                return (
                  <div role="listitem" aria-setsize={total} aria-posinset={row * columns + column + 1}>
                    {item ? card(item, cell) : <AlbumSkeleton />}
                  </div>
                );
              })}
            </div>
          )}
        />
      )}
    </div>
  );
}
