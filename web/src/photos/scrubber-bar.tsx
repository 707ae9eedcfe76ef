import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";

import { t } from "../i18n/messages.ts";
import type { Grid } from "./grid.ts";
import { monthLabel } from "./month-label.ts";
import { firstOf, monthAt, ticks, yearStep } from "./scrubber.ts";
import type { Month } from "./sections.ts";

interface Props {
  months: readonly Month[];
  total: number;
  grid: Grid;
}

/** Time for which the handle stays visible after scrolling, in milliseconds. */
const SHOWN_MS = 1400;

/** Slider beside the timeline, on which each month takes room in proportion to its pictures. */
export function Scrubber({ months, total, grid }: Props) {
  const root = useRef<HTMLDivElement>(null);
  const height = useSignal(600);
  const pointed = useSignal<number | null>(null);
  const isDragged = useSignal(false);
  const isShown = useIsRecent(grid);
  useEffect(() => {
    const element = root.current;
    if (!element) return;
    const observer = new ResizeObserver(() => (height.value = element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // Keeps the nodes for all renderings, because only the handle moves while the timeline scrolls.
  const marks = useMemo(
    () =>
      ticks(months, height.value).map((tick) => (
        <span key={tick.month} class={tick.year ? "year" : "tick"} style={{ top: `${tick.at * 100}%` }}>
          {tick.year}
        </span>
      )),
    [months, height.value],
  );
  const { index } = grid.view.value;
  const month = monthAt(months, index);
  const fractionOf = (event: PointerEvent) => {
    const { top } = (root.current as HTMLElement).getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientY - top) / height.value));
  };
  const indexAt = (fraction: number) => Math.min(total - 1, Math.floor(fraction * total));
  const follow = (event: PointerEvent) => {
    pointed.value = fractionOf(event);
    if (isDragged.value) grid.jumpTo(indexAt(pointed.value));
  };
  const grab = (event: PointerEvent) => {
    if (event.button !== 0) return;
    event.preventDefault();
    root.current?.setPointerCapture(event.pointerId);
    isDragged.value = true;
    grid.drag(true);
    follow(event);
  };
  const release = () => {
    if (!isDragged.value) return;
    isDragged.value = false;
    pointed.value = null;
    grid.drag(false);
  };
  const at = total > 1 ? index / total : 0;
  const bubble = pointed.value ?? at;
  const labelOf = (at: number) => months[at] && monthLabel(months[at]);
  return (
    <div
      ref={root}
      class={`scrubber${isDragged.value || isShown.value ? " shown" : ""}`}
      role="slider"
      tabIndex={0}
      aria-label={t("photos.scrubber")}
      aria-orientation="vertical"
      aria-valuemin={0}
      aria-valuemax={months.length - 1}
      aria-valuenow={month}
      aria-valuetext={labelOf(month)}
      onKeyDown={(event) => moveByKey(event, months, month, grid)}
      onPointerDown={grab}
      onPointerMove={follow}
      onPointerUp={release}
      onPointerCancel={release}
      onPointerLeave={() => (pointed.value = isDragged.value ? pointed.value : null)}
    >
      {marks}
      <span class="handle" style={{ top: `${at * 100}%` }} />
      <span class="bubble" style={{ top: `${bubble * 100}%` }}>
        {labelOf(pointed.value === null ? month : monthAt(months, indexAt(pointed.value)))}
      </span>
    </div>
  );
}

/** Returns a signal that is true for a while after the view has moved. */
function useIsRecent(grid: Grid) {
  const isRecent = useSignal(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isFirst = true;
    const stop = grid.view.subscribe(() => {
      if (isFirst) {
        isFirst = false;
        return;
      }
      isRecent.value = true;
      clearTimeout(timer);
      timer = setTimeout(() => (isRecent.value = false), SHOWN_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [grid]);
  return isRecent;
}

/** Moves by months and, with Shift, by years. */
function moveByKey(event: KeyboardEvent, months: readonly Month[], month: number, grid: Grid): void {
  const last = months.length - 1;
  const isBack = event.key === "PageUp" || event.key === "ArrowUp";
  let target: number;
  if (isBack || event.key === "PageDown" || event.key === "ArrowDown") {
    target = event.shiftKey ? yearStep(months, month, isBack ? -1 : 1) : month + (isBack ? -1 : 1);
  } else if (event.key === "Home" || event.key === "End") {
    target = event.key === "Home" ? 0 : last;
  } else {
    return;
  }
  event.preventDefault();
  grid.jumpTo(firstOf(months, Math.min(last, Math.max(0, target))));
}
