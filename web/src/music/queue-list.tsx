import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { duration, t } from "../i18n/messages.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Message } from "../ui/message.tsx";
import { Cover } from "./cover.tsx";
import { clear, failures, isPlaying, jump, move, queue, remove } from "./player.ts";
import { type Entry, move as moved } from "./queue.ts";
import { Announced, type Drag, Handle } from "./reorder.tsx";
import { type ListHandle, VirtualList } from "./virtual-list.tsx";

/** Height of a row, in pixels, as in app.css. */
const ROW_HEIGHT = 60;

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
      <Announced />
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
      <Handle title={track.title} rowKey={key} index={index} count={count} rowHeight={ROW_HEIGHT} drag={drag} onMove={(to) => move(key, to)} />
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
