import { useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { t } from "../i18n/messages.ts";
import { useLoaded } from "./load.ts";
import { type Lyrics, lineAt, mayFollow } from "./lyrics.ts";
import { position, present, seek, toggle } from "./player.ts";

/**
 * Lyrics of the present track. Synced lyrics follow the music, and a click on a line goes to its
 * time. While the user scrolls, the lyrics stay where they are.
 */
export function LyricsView() {
  const id = present.value?.track.id;
  const { value, error } = useLoaded<Lyrics>(id === undefined ? null : `/tracks/${id}/lyrics`);
  const list = useRef<HTMLOListElement>(null);
  const scrolledMs = useRef(-Infinity);
  const lyrics = value.value;
  const at = useComputed(() => (value.value?.synced ? lineAt(value.value.lines, position.value * 1000) : -1)).value;
  useEffect(() => {
    const scroller = list.current?.parentElement;
    if (!scroller) return undefined;
    const note = (event: Event) => {
      // A press on the scroller itself is one on its scroll bar; other presses do not scroll.
      if (event.type !== "pointerdown" || event.target === scroller) scrolledMs.current = performance.now();
    };
    const types = ["wheel", "touchmove", "pointerdown"] as const;
    for (const type of types) scroller.addEventListener(type, note, { passive: true });
    return () => types.forEach((type) => scroller.removeEventListener(type, note));
  }, [lyrics]);
  useEffect(() => {
    if (!mayFollow(scrolledMs.current, performance.now())) return;
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    list.current?.children[at]?.scrollIntoView({ block: "center", behavior: isStill ? "instant" : "smooth" });
  }, [lyrics, at]);
  if (error.value) return <p class="dim">{t("music.lyricsFailed")}</p>;
  if (!lyrics) return null;
  if (lyrics.lines.length === 0) return <p class="dim">{t("music.noLyrics")}</p>;
  return (
    <ol ref={list} class="lyrics" onKeyDown={playBySpace} onKeyUp={playBySpace}>
      {lyrics.lines.map(({ startMs, text }, index) => (
        <li dir="auto" aria-current={index === at ? "true" : undefined}>
          {startMs === undefined ? (
            text || "\u00a0"
          ) : (
            <button type="button" onClick={() => seek(startMs / 1000)}>
              {text || "♪"}
            </button>
          )}
        </li>
      ))}
    </ol>
  );
}

/**
 * Plays or pauses with the space bar, as everywhere in the page. On a line that has the focus, the
 * browser would click the line instead, and the music would jump.
 */
function playBySpace(event: KeyboardEvent): void {
  if (event.key !== " ") return;
  event.preventDefault();
  if (event.type === "keydown" && !event.repeat) toggle();
}
