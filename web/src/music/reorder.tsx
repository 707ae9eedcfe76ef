import { type Signal, signal } from "@preact/signals";

import { t } from "../i18n/messages.ts";
import { Icon } from "../ui/icon.tsx";

/** Distance from the edge at which a dragged row scrolls the list, in pixels. */
const EDGE = 60;

/** Row that is dragged, and the index to which it would move. */
export interface Drag {
  readonly key: number;
  readonly to: number;
}

/** Text that a screen reader announces after a row was moved. */
const announced = signal("");

/** Region in which screen readers announce moved rows. */
export function Announced() {
  return (
    <p class="hidden" role="status">
      {announced.value}
    </p>
  );
}

interface HandleProps {
  title: string;
  /** Key of the row, which stays the same when the row moves. */
  rowKey: number;
  index: number;
  count: number;
  rowHeight: number;
  drag: Signal<Drag | null>;
  /** Moves the row to another index. */
  onMove: (to: number) => void;
}

/** Handle that moves a row of a virtual list by drag or with the arrow keys. */
export function Handle(props: HandleProps) {
  const label = t("music.move", { title: props.title });
  return (
    <button
      type="button"
      class="icon-button queue-handle"
      title={label}
      aria-label={label}
      onKeyDown={(event) => moveByKey(event, props)}
      onPointerDown={(event) => startDrag(event, props)}
    >
      <Icon name="drag" />
    </button>
  );
}

/** Moves a row with the arrow keys, and keeps the focus on its handle. */
function moveByKey(event: KeyboardEvent & { readonly currentTarget: HTMLElement }, { title, index, count, onMove }: HandleProps): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0) return;
  event.preventDefault();
  event.stopPropagation();
  const to = index + step;
  if (to < 0 || to >= count) return;
  const list = event.currentTarget.closest(".virtual");
  onMove(to);
  announced.value = t("music.moved", { title, position: to + 1, count });
  requestAnimationFrame(() => {
    const handle = list?.querySelector<HTMLElement>(`[data-index="${to}"] .queue-handle`);
    handle?.focus({ preventScroll: true });
    handle?.scrollIntoView({ block: "nearest" });
  });
}

/** Follows the pointer until it is released, and then moves the row. */
function startDrag(down: PointerEvent & { readonly currentTarget: HTMLElement }, { rowKey: key, index, count, rowHeight, drag, onMove }: HandleProps): void {
  if (down.button !== 0) return;
  const list = down.currentTarget.closest<HTMLElement>(".virtual");
  const around = down.currentTarget.closest(".scrolls") ?? document.documentElement;
  if (!list) return;
  let { clientY } = down;
  let frame = 0;
  const follow = () => {
    const { top } = list.getBoundingClientRect();
    const to = Math.floor((clientY - top) / rowHeight);
    drag.value = { key, to: Math.min(count - 1, Math.max(0, to)) };
    const { top: start, bottom: end } = around === document.documentElement ? { top: 0, bottom: innerHeight } : around.getBoundingClientRect();
    const push = clientY < start + EDGE ? -8 : clientY > end - EDGE ? 8 : 0;
    if (push !== 0) around.scrollBy(0, push);
    frame = requestAnimationFrame(follow);
  };
  const onPointer = (event: PointerEvent) => ({ clientY } = event);
  const stop = (event: Event) => {
    cancelAnimationFrame(frame);
    removeEventListener("pointermove", onPointer);
    removeEventListener("pointerup", stop);
    removeEventListener("pointercancel", stop);
    const to = drag.peek()?.to;
    drag.value = null;
    if (event.type === "pointerup" && to !== undefined && to !== index) onMove(to);
  };
  addEventListener("pointermove", onPointer);
  addEventListener("pointerup", stop);
  addEventListener("pointercancel", stop);
  frame = requestAnimationFrame(follow);
}
