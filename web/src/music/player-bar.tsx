import "../shared.ts";

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { t } from "../i18n/messages.ts";
import { type CommandGroup, addCommands } from "../keys.ts";
import { href } from "../router.ts";
import { IconButton } from "../ui/button.tsx";
import { Buttons, JUMP_S, PlayButton, Seek, Volume } from "./controls.tsx";
import { Cover } from "./cover.tsx";
import { Heart, toggleFavourite } from "./favourites.tsx";
import { LyricsButton } from "./lyrics-button.tsx";
import { LyricsView } from "./lyrics-view.tsx";
import { startMediaSession } from "./media-session.ts";
import { NowPlaying } from "./now-playing.tsx";
import { cycleRepeat, isMuted, length, next, position, present, previous, seek, toggle, toggleShuffle } from "./player.ts";
import { QueueList } from "./queue-list.tsx";
import { Stars } from "./stars.tsx";
import { ArtistLink } from "./track-row.tsx";
import type { Track } from "./types.ts";

/** Bar of the player below all areas, with its panels. */
export default function PlayerBar() {
  const panel = useSignal<"queue" | "lyrics" | "now" | null>(null);
  const track = present.value?.track;
  const isEmpty = track === undefined;
  useEffect(startMediaSession, []);
  const toggleQueue = () => (panel.value = panel.peek() === "queue" ? null : "queue");
  const toggleLyrics = () => (panel.value = panel.peek() === "lyrics" ? null : "lyrics");
  // If an area uses the same keys, the commands of the area take precedence.
  // The keys work as soon as the player is seen.
  useLayoutEffect(() => (isEmpty ? undefined : addCommands(commands(toggleQueue, toggleLyrics), true)), [isEmpty]);
  useEffect(() => {
    if (panel.value === "queue")
      return addCommands({ title: "music.queue", commands: [{ keys: ["Escape"], label: "music.keys.close", run: toggleQueue }] });
    if (panel.value === "lyrics")
      return addCommands({ title: "music.lyrics", commands: [{ keys: ["Escape"], label: "close", run: toggleLyrics }] });
    // In a modal dialog, only the last group of commands applies.
    return panel.value === "now" ? addCommands(commands(toggleQueue, toggleLyrics)) : undefined;
  }, [panel.value]);
  if (isEmpty) return null;
  return (
    <>
      {panel.value === "queue" && (
        <SidePanel key="queue" label={t("music.queue")} onClose={() => (panel.value = null)}>
          <QueueList scroller=".scrolls" />
        </SidePanel>
      )}
      {panel.value === "lyrics" && (
        <SidePanel key="lyrics" label={t("music.lyrics")} onClose={() => (panel.value = null)}>
          <LyricsView />
        </SidePanel>
      )}
      {panel.value === "now" && (
        <NowPlaying onClose={() => panel.peek() === "now" && (panel.value = null)} showQueue={() => (panel.value = "queue")} showLyrics={toggleLyrics} />
      )}
      <section class="player" aria-label={t("music.player")} onKeyDown={seekByKey}>
        <Present track={track} onOpen={() => (panel.value = "now")} />
        <div class="player-main">
          <Buttons />
          <Seek />
        </div>
        <div class="player-mini" dir="ltr">
          <PlayButton />
          <IconButton icon="next" label={t("music.next")} filled onClick={next} />
        </div>
        <div class="player-more">
          <Stars track={track} />
          <IconButton
            icon="queue"
            label={t("music.queue")}
            pressed={panel.value === "queue"}
            onClick={() => (panel.value = panel.value === "queue" ? null : "queue")}
          />
          <LyricsButton isPressed={panel.value === "lyrics"} onClick={toggleLyrics} />
          <Volume />
          <IconButton icon="full" label={t("music.nowPlaying")} onClick={() => (panel.value = "now")} />
        </div>
        <Progress />
      </section>
    </>
  );
}

/** Line that shows the position in layouts without room for the slider. */
function Progress() {
  const part = length.value > 0 ? Math.min(1, position.value / length.value) : 0;
  return <span class="progress" dir="ltr" style={{ inlineSize: `${part * 100}%` }} aria-hidden="true" />;
}

function Present({ track, onOpen }: { track: Track; onOpen: () => void }) {
  return (
    <div class="player-track">
      <button type="button" class="player-cover" aria-label={t("music.nowPlaying")} onClick={onOpen}>
        <Cover cover={track.cover} sizes="56px" />
      </button>
      <span class="track-text">
        <a class="track-title" dir="auto" href={href(track.albumId ? `music/albums/${track.albumId}` : "music/queue")}>
          {track.title}
        </a>
        <ArtistLink track={track} />
      </span>
      <Heart id={track.id} />
    </div>
  );
}

/** Panel beside the view. It is not a dialog: the page behind it stays in use. */
function SidePanel({ label, onClose, children }: { label: string; onClose: () => void; children: ComponentChildren }) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    panel.current?.querySelector("button")?.focus();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <aside ref={panel} class="queue-panel" aria-label={label}>
      <header>
        <h2>{label}</h2>
        <IconButton icon="close" label={t("close")} onClick={onClose} />
      </header>
      <div class="scrolls">{children}</div>
    </aside>
  );
}

function commands(toggleQueue: () => void, toggleLyrics: () => void): CommandGroup {
  return {
    title: "music.player",
    commands: [
      { keys: [" "], label: "music.keys.toggle", run: toggle },
      { keys: [","], label: "music.previous", run: previous },
      { keys: ["."], label: "music.next", run: next },
      { keys: ["s"], label: "music.shuffle", run: toggleShuffle },
      { keys: ["r"], label: "music.keys.repeat", run: cycleRepeat },
      { keys: ["m"], label: "music.mute", run: () => (isMuted.value = !isMuted.value) },
      { keys: ["q"], label: "music.queue", run: toggleQueue },
      { keys: ["y"], label: "music.lyrics", run: toggleLyrics },
      { keys: ["l"], label: "music.favourite", run: () => present.value && void toggleFavourite(present.value.track.id) },
    ],
  };
}

/** Jumps with the arrow keys while the focus is on the player. */
function seekByKey(event: KeyboardEvent): void {
  const isModified = event.ctrlKey || event.metaKey || event.altKey;
  if (event.defaultPrevented || isModified || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
  event.preventDefault();
  seek(position.value + (event.key === "ArrowRight" ? JUMP_S : -JUMP_S));
}
