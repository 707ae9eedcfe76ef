import { useMemo } from "preact/hooks";

import { api } from "../api.ts";
import { t } from "../i18n/messages.ts";
import { Button } from "../ui/button.tsx";
import { failureText } from "../ui/failure.ts";
import { Failure, Message } from "../ui/message.tsx";
import { toast } from "../ui/toast.tsx";
import { paged, useList } from "./load.ts";
import { play, playShuffled } from "./player.ts";
import { TrackRow, TrackSkeleton } from "./track-row.tsx";
import type { FullTrack, Page } from "./types.ts";
import { VirtualList } from "./virtual-list.tsx";

/** Height of a row, in pixels, as in app.css. */
export const ROW_HEIGHT = 60;

/** Number of tracks that are loaded, or added to the queue, at once. */
const PAGE = 500;

/** Time without scrolling before pages are loaded, in milliseconds. */
const REST_MS = 90;

/** All tracks of the library, in the order of albums. */
export function Tracks() {
  const list = useList<FullTrack>("/tracks", PAGE);
  const count = list.total.value;
  const onWindow = useMemo(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    return (first: number, end: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => list.want(first, end), list.at(first) && list.at(end - 1) ? 0 : REST_MS);
    };
  }, [list]);
  void list.version.value;
  if (list.error.value && count === null) return <Failure error={list.error.value} retry={() => list.want(0, 1)} />;
  if (count === 0) return <Message icon="music" title={t("music.empty")} />;
  return (
    <>
      <div class="view-head">
        <h1>{t("music.tracks")}</h1>
        {count !== null && <span class="dim">{t("music.trackCount", { count })}</span>}
        <Button icon="shuffle" disabled={count === null} onClick={() => void playFrom(Math.floor((Math.random() * (count ?? 0)) / PAGE) * PAGE, playShuffled)}>
          {t("music.shuffle")}
        </Button>
      </div>
      <VirtualList
        count={count ?? 12}
        rowHeight={ROW_HEIGHT}
        label={t("music.tracks")}
        onWindow={onWindow}
        row={(index) => {
          const track = list.at(index);
          return track ? <TrackRow track={track} hasAlbum onPlay={() => void playFrom(index, play)} /> : <TrackSkeleton />;
        }}
      />
    </>
  );
}

/** Plays the tracks of the list from an index on. */
async function playFrom(index: number, use: (tracks: readonly FullTrack[]) => void): Promise<void> {
  try {
    use((await api<Page<FullTrack>>(paged("/tracks", index, PAGE))).items);
  } catch (error) {
    toast(failureText(error));
  }
}
