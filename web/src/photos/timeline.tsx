import { useSignal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { t } from "../i18n/messages.ts";
import { session } from "../session.ts";
import { EmptyLibrary } from "../ui/empty-library.tsx";
import { Failure, Message } from "../ui/message.tsx";
import { Grid } from "./grid.ts";
import { loadMore, more } from "./later.ts";
import { firstOf, nearest } from "./scrubber.ts";
import { clearSelection, select, selection } from "./selection.ts";
import type { Picture, Source } from "./source.ts";
import { indexOfTile } from "./tile.ts";

interface Props {
  source: Source;
  linkOf: (picture: Picture) => string;
  /** Month that is shown first, such as `2019-07`. */
  at: string | null;
  /** True while the viewer covers the timeline. */
  isCovered: boolean;
  /** Receives the grid, for the viewer. */
  gridRef: RefObject<Grid | null>;
  /** Called when the month at the top of the window has changed and scrolling has ended. */
  onMonth: (month: string | null) => void;
  /** Shown if there are no pictures. */
  empty: ComponentChildren;
}

/** Months and pictures of a source, with their scrubber and the bar of the selection. */
export function Timeline({ source, linkOf, at, isCovered, gridRef, onMonth, empty }: Props) {
  const root = useRef<HTMLDivElement>(null);
  const grid = useSignal<Grid | null>(null);
  const isAsking = useSignal(false);
  const months = source.months.value;
  const load = () => void source.loadMonths();

  useEffect(() => {
    if (!source.place) scrollTo(0, 0);
    history.scrollRestoration = "manual";
    const made = new Grid(root.current as HTMLElement, source, linkOf);
    grid.value = made;
    gridRef.current = made;
    load();
    return () => {
      made.dispose();
      grid.value = null;
      gridRef.current = null;
      clearSelection();
      history.scrollRestoration = "auto";
    };
  }, [source]);

  // After a login, the months may be loaded that were refused before.
  useEffect(() => {
    if (source.error.peek() !== null) load();
  }, [session.value]);

  useEffect(() => {
    if (!at || !months || !grid.value || isCovered) return;
    const month = nearest(months, at);
    const shown = source.place?.month ?? grid.value.view.peek().month;
    source.place = null;
    if (shown !== months[month]?.[0]) grid.value.jumpTo(firstOf(months, month));
  }, [at, months, grid.value]);

  useReportedMonth(grid.value, isCovered, onMonth);
  usePress(root, source);
  useEffect(() => {
    if (months) void loadMore();
  }, [months]);
  const parts = more.value;
  useEffect(() => {
    if (grid.value && parts && !isCovered) return parts.addGridCommands(grid.value, source, () => (isAsking.value = true));
  }, [grid.value, parts, source, isCovered]);

  const { total } = source.sections;
  return (
    <>
      {source.error.value !== null && <Failure error={source.error.value} retry={load} />}
      {months && total === 0 && empty}
      {!months && source.error.value === null && <div class="month unloaded waiting" aria-busy="true" />}
      <div class="grid-host" inert={isCovered}>
        <div ref={root} class="grid" />
        {parts && months && total > 60 && grid.value && <parts.Scrubber months={months} total={total} grid={grid.value} />}
      </div>
      {parts && !isCovered && <parts.SelectionBar />}
      {parts && isAsking.value && months && grid.value && (
        <parts.MonthDialog months={months} grid={grid.value} onClose={() => (isAsking.value = false)} />
      )}
    </>
  );
}

/** Reports the month once scrolling has ended, so that the address names the month. */
function useReportedMonth(grid: Grid | null, isCovered: boolean, onMonth: (month: string | null) => void): void {
  useEffect(() => {
    if (!grid || isCovered) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let before = grid.view.peek().month;
    const stop = grid.view.subscribe(({ month, index }) => {
      if (month === before && index !== 0) return;
      before = month;
      clearTimeout(timer);
      timer = setTimeout(() => onMonth(index === 0 ? null : month), 400);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [grid, isCovered]);
}

/** Time after which a touch that does not move selects, in milliseconds. */
const LONG_PRESS_MS = 450;

/** Selects by the checkboxes, by long presses and, once something is selected, by clicks. */
function usePress(root: RefObject<HTMLDivElement | null>, source: Source): void {
  useEffect(() => {
    const element = root.current;
    if (!element) return;
    let last = -1;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let hasPressed = false;
    const toggle = (index: number, isRange: boolean) => {
      const picture = source.picture(index);
      if (!picture) return;
      const isSelected = !selection.value.has(picture.id);
      if (isRange && last >= 0) void selectRange(source, last, index);
      else select([picture], isSelected);
      last = index;
    };
    const abort = new AbortController();
    const options = { signal: abort.signal };
    const click = (event: MouseEvent) => {
      const index = indexOfTile(event.target);
      if (index < 0) return;
      const isCheck = event.target instanceof Element && event.target.closest(".tile-check") !== null;
      const isSelecting = selection.value.size > 0 && !event.ctrlKey && !event.metaKey;
      if (!isCheck && !isSelecting && !hasPressed) return;
      event.preventDefault();
      if (!hasPressed) toggle(index, event.shiftKey);
      hasPressed = false;
    };
    const down = (event: PointerEvent) => {
      hasPressed = false;
      clearTimeout(timer);
      const index = indexOfTile(event.target);
      if (event.pointerType === "mouse" || index < 0) return;
      timer = setTimeout(() => {
        hasPressed = true;
        toggle(index, false);
        navigator.vibrate?.(15);
      }, LONG_PRESS_MS);
    };
    const end = () => clearTimeout(timer);
    element.addEventListener("click", click, options);
    element.addEventListener("pointerdown", down, options);
    for (const type of ["pointerup", "pointercancel", "pointerleave"]) element.addEventListener(type, end, options);
    element.addEventListener("contextmenu", (event: Event) => hasPressed && event.preventDefault(), options);
    return () => abort.abort();
  }, [source]);
}

/** Maximum number of pictures that one range selects. */
const RANGE_MAX = 5000;

/** Selects all pictures between two indices, and loads those that are not loaded yet. */
async function selectRange(source: Source, one: number, other: number): Promise<void> {
  const [first, last] = one < other ? [one, other] : [other, one];
  const found: Picture[] = [];
  for (let index = first; index <= Math.min(last, first + RANGE_MAX); index += 1) {
    const picture = source.picture(index) ?? (await source.fetchPicture(index));
    if (picture) found.push(picture);
  }
  select(found, true);
}

/** Explains that a search found nothing, or how pictures come into the library. */
export function NoPictures({ isSearch, isFavourites, reload }: { isSearch: boolean; isFavourites: boolean; reload: () => void }) {
  if (isFavourites) {
    return (
      <Message icon="heart" title={t("photos.noFavourites")}>
        <p>{t("photos.noFavouritesHelp")}</p>
      </Message>
    );
  }
  if (isSearch) {
    return (
      <Message icon="search" title={t("photos.noResults")}>
        <p>{t("photos.noResultsHelp")}</p>
      </Message>
    );
  }
  return (
    <EmptyLibrary icon="photos" title={t("photos.empty")} onScanned={reload}>
      <p>{t("photos.emptyHelp")}</p>
      <pre>pelton serve DIR</pre>
    </EmptyLibrary>
  );
}
