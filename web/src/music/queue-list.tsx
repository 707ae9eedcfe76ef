import { type Signal, signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { duration, t } from "../i18n/messages.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Message } from "../ui/message.tsx";
import { Cover } from "./cover.tsx";
import { clear, failures, isPlaying, jump, move, queue, remove } from "./player.ts";
import { type Entry, move as moved } from "./queue.ts";
import { type ListHandle, VirtualList } from "./virtual-list.tsx";

/** Height of a row, in pixels, as in app.css. */
const ROW_HEIGHT = 60;

/** Distance from the edge at which a dragged entry scrolls the list, in pixels. */
const EDGE = 60;

/** Entry that is dragged, and the index to which it would move. */
interface Drag {
  readonly key: number;
  readonly to: number;
}

/** Text that a screen reader announces after an entry was moved. */
const announced = signal("");

/** Queue with commands: play, move by drag or arrow keys, remove, clear. */
export function QueueList({ scroller }: { scroller?: string }) {
  const drag = useSignal<Drag | null>(null);
  const handle = useRef<ListHandle | null>(null);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (queue.peek().at > 4) handle.current?.scrollTo(queue.peek().at);
  }, []);
  const held = drag.value;
  const { entries, at } = queue.value;
  const shown = held ? moved(queue.value, held.key, held.to).entries : entries;
  if (entries.length === 0) {
    return (
      <Message icon="queue" title={t("music.queueEmpty")}>
        <p>{t("music.queueEmptyHint")}</p>
      </Message>
    );
  }
  const restMs = entries.slice(at).reduce((sum, entry) => sum + entry.track.durationMs, 0);
  const presentKey = entries[at]?.key;
  return (
    <div class="queue" ref={list}>
      <p class="queue-head dim">
        <span>{t("music.queueRest", { count: entries.length, time: duration(restMs) })}</span>
        <Button icon="trash" onClick={clear}>
          {t("music.clear")}
        </Button>
      </p>
      <p class="hidden" role="status">
        {announced.value}
      </p>
      <VirtualList
        count={shown.length}
        rowHeight={ROW_HEIGHT}
        label={t("music.queue")}
        handle={handle}
        {...(scroller ? { scroller } : {})}
        row={(index) => {
          const entry = shown[index];
          return entry && <Row entry={entry} index={index} count={shown.length} isPresent={entry.key === presentKey} drag={drag} />;
        }}
      />
    </div>
  );
}

interface RowProps {
  entry: Entry;
  index: number;
  count: number;
  isPresent: boolean;
  drag: Signal<Drag | null>;
}

function Row({ entry, index, count, isPresent, drag }: RowProps) {
  const { key, track } = entry;
  const failure = failures.value.get(track.id);
  return (
    <div class="track queued" aria-current={isPresent || undefined} data-dragged={drag.value?.key === key || undefined}>
      <button
        type="button"
        class="icon-button queue-handle"
        title={t("music.move", { title: track.title })}
        aria-label={t("music.move", { title: track.title })}
        onKeyDown={(event) => moveByKey(event, entry, index, count)}
        onPointerDown={(event) => startDrag(event, key, index, drag)}
      >
        <Icon name="drag" />
      </button>
      <span class="track-lead" aria-hidden="true">
        <Cover cover={track.cover} sizes="44px" />
      </span>
      <span class="track-text">
        <button type="button" class="track-title" dir="auto" aria-pressed={isPresent && isPlaying.value} onClick={() => jump(key)}>
          {track.title}
        </button>
        <span class="dim" dir="auto">
          {failure ?? track.artist}
        </span>
      </span>
      <span class="track-time dim number">{duration(track.durationMs)}</span>
      <IconButton icon="close" label={t("music.remove", { title: track.title })} onClick={() => remove(key)} />
    </div>
  );
}

/** Moves an entry with the arrow keys, and keeps the focus on its handle. */
function moveByKey(event: KeyboardEvent & { readonly currentTarget: HTMLElement }, entry: Entry, index: number, count: number): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0) return;
  event.preventDefault();
  event.stopPropagation();
  const to = Math.min(count - 1, Math.max(0, index + step));
  const list = event.currentTarget.closest(".virtual");
  move(entry.key, to);
  announced.value = t("music.moved", { title: entry.track.title, position: to + 1, count });
  requestAnimationFrame(() => {
    const handle = list?.querySelector<HTMLElement>(`[data-index="${to}"] .queue-handle`);
    handle?.focus({ preventScroll: true });
    handle?.scrollIntoView({ block: "nearest" });
  });
}

/** Follows the pointer until it is released, and then moves the entry. */
function startDrag(down: PointerEvent & { readonly currentTarget: HTMLElement }, key: number, index: number, drag: Signal<Drag | null>): void {
  if (down.button !== 0) return;
  const list = down.currentTarget.closest<HTMLElement>(".virtual");
  const around = down.currentTarget.closest(".scrolls") ?? document.documentElement;
  if (!list) return;
  let { clientY } = down;
  let frame = 0;
  const follow = () => {
    const { top } = list.getBoundingClientRect();
    const to = Math.floor((clientY - top) / ROW_HEIGHT);
    drag.value = { key, to: Math.min(queue.peek().entries.length - 1, Math.max(0, to)) };
    const { top: start, bottom: end } = around === document.documentElement ? { top: 0, bottom: innerHeight } : around.getBoundingClientRect();
    const push = clientY < start + EDGE ? -8 : clientY > end - EDGE ? 8 : 0;
    if (push !== 0) around.scrollBy(0, push);
    frame = requestAnimationFrame(follow);
  };
  const onMove = (event: PointerEvent) => ({ clientY } = event);
  const stop = (event: Event) => {
    cancelAnimationFrame(frame);
    removeEventListener("pointermove", onMove);
    removeEventListener("pointerup", stop);
    removeEventListener("pointercancel", stop);
    const to = drag.peek()?.to;
    drag.value = null;
    if (event.type === "pointerup" && to !== undefined && to !== index) move(key, to);
  };
  addEventListener("pointermove", onMove);
  addEventListener("pointerup", stop);
  addEventListener("pointercancel", stop);
  frame = requestAnimationFrame(follow);
}
