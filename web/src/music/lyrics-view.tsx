import { useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { t } from "../i18n/messages.ts";
import { useLoaded } from "./load.ts";
import { type Lyrics, lineAt } from "./lyrics.ts";
import { position, present, seek } from "./player.ts";

/**
 * Lyrics of the present track. Synced lyrics follow the music, and a click on a line goes to its
 * time.
 */
export function LyricsView() {
  const id = present.value?.track.id;
  const { value, error } = useLoaded<Lyrics>(id === undefined ? null : `/tracks/${id}/lyrics`);
  const list = useRef<HTMLOListElement>(null);
  const lyrics = value.value;
  const at = useComputed(() => (value.value?.synced ? lineAt(value.value.lines, position.value * 1000) : -1)).value;
  useEffect(() => {
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    list.current?.children[at]?.scrollIntoView({ block: "center", behavior: isStill ? "instant" : "smooth" });
  }, [lyrics, at]);
  if (error.value) return <p class="dim">{t("music.lyricsFailed")}</p>;
  if (!lyrics) return null;
  if (lyrics.lines.length === 0) return <p class="dim">{t("music.noLyrics")}</p>;
  return (
    <ol ref={list} class="lyrics">
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
