import type { ComponentChildren } from "preact";

import { duration, number, t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { download, originalOf } from "../ui/download.ts";
import { Icon } from "../ui/icon.tsx";
import { MenuButton, type MenuItem } from "../ui/menu.tsx";
import { Cover } from "./cover.tsx";
import { enqueue, failures, isPlaying, present, toggle } from "./player.ts";
import { addItems } from "./playlist-dialogs.tsx";
import { Stars } from "./stars.tsx";
import type { Track } from "./types.ts";

interface TrackRowProps {
  track: Track;
  /** Number that is shown instead of the cover. */
  number?: number;
  /** True to name the artist below the title. */
  hasArtist?: boolean;
  hasAlbum?: boolean;
  /** Control before the row that moves it. */
  handle?: ComponentChildren;
  isDragged?: boolean;
  /** Further entries of the menu. */
  items?: readonly MenuItem[];
  onPlay: () => void;
}

/** Row for a track. A click anywhere plays it. */
export function TrackRow({ track, number: position, hasArtist = true, hasAlbum = false, handle, isDragged = false, items = [], onPlay }: TrackRowProps) {
  const isPresent = present.value?.track.id === track.id;
  const play = () => (isPresent ? toggle() : onPlay());
  const failure = failures.value.get(track.id);
  return (
    <div
      class={hasAlbum ? "track with-album" : "track"}
      aria-current={isPresent || undefined}
      data-dragged={isDragged || undefined}
      onClick={(event) => isOutside(event) && play()}
    >
      {handle}
      <span class="track-lead number" aria-hidden="true">
        {position === undefined ? <Cover cover={track.cover} sizes="44px" /> : <b>{position > 0 && number(position, { useGrouping: false })}</b>}
        <Icon name={isPresent && isPlaying.value ? "volume" : "play"} filled />
      </span>
      <span class="track-text">
        <button type="button" class="track-title" dir="auto" onClick={play}>
          {track.title}
        </button>
        {failure ? <span class="dim">{failure}</span> : hasArtist && <ArtistLink track={track} />}
      </span>
      {hasAlbum && (
        <a class="track-album dim" dir="auto" href={href(`music/albums/${track.albumId}`)}>
          {track.album}
        </a>
      )}
      <Stars track={track} />
      <span class="track-time dim number">{duration(track.durationMs)}</span>
      <MenuButton label={t("music.more", { title: track.title })} items={() => [...trackMenu(track), ...items]} />
    </div>
  );
}

/** Returns whether a click did not hit a control within the row. */
function isOutside(event: MouseEvent): boolean {
  return event.target instanceof Element && !event.target.closest("a, button");
}

/** Link to the first artist of a track, or only the name. */
export function ArtistLink({ track }: { track: Pick<Track, "artist" | "artistIds"> }) {
  const [id] = track.artistIds;
  if (id === undefined) return <bdi class="dim">{track.artist}</bdi>;
  return (
    <a class="dim" dir="auto" href={href(`music/artists/${id}`)}>
      {track.artist}
    </a>
  );
}

function trackMenu(track: Track): readonly MenuItem[] {
  const [artist] = track.artistIds;
  return [
    { icon: "next", label: t("music.playNext"), run: () => enqueue([track], true) },
    { icon: "queue", label: t("music.playLast"), run: () => enqueue([track], false) },
    ...addItems([track.id]),
    { icon: "download", label: t("music.download"), run: () => download(originalOf("tracks", track.id)) },
    ...(track.albumId ? [{ icon: "album", label: t("music.toAlbum"), to: `music/albums/${track.albumId}` } as const] : []),
    ...(artist ? [{ icon: "user", label: t("music.toArtist"), to: `music/artists/${artist}` } as const] : []),
  ];
}

/** Empty row, shown instead of a track that is not loaded yet. */
export function TrackSkeleton() {
  return (
    <div class="track" aria-hidden="true">
      <span class="track-lead">
        <span class="art skeleton" />
      </span>
      <span class="track-text">
        <span class="skeleton line" />
        <span class="skeleton line short" />
      </span>
    </div>
  );
}
