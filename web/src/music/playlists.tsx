import { useEffect } from "preact/hooks";

import { url } from "../base.ts";
import { duration, t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { Icon } from "../ui/icon.tsx";
import { Failure, Message } from "../ui/message.tsx";
import { Actions } from "./album.tsx";
import { useLoaded } from "./load.ts";
import { play } from "./player.ts";
import { TrackRow, TrackSkeleton } from "./track-row.tsx";
import { ROW_HEIGHT } from "./tracks.tsx";
import type { FullTrack, Page, Playlist } from "./types.ts";
import { VirtualList } from "./virtual-list.tsx";

/** Playlists in files of the library. */
export function Playlists() {
  const { value, error, reload } = useLoaded<Page<Playlist>>("/playlists?limit=500");
  if (error.value) return <Failure error={error.value} retry={reload} />;
  if (value.value?.total === 0) {
    return (
      <Message icon="queue" title={t("music.noPlaylists")}>
        <p>{t("music.noPlaylistsHint")}</p>
      </Message>
    );
  }
  return (
    <>
      <div class="view-head">
        <h1>{t("music.playlists")}</h1>
      </div>
      <ul class="tiles">
        {value.value
          ? value.value.items.map((playlist) => (
              <li key={playlist.id}>
                <a href={href(`music/playlists/${playlist.id}`)}>
                  <b dir="auto">{playlist.name}</b>
                  <span class="dim">{described(playlist)}</span>
                </a>
              </li>
            ))
          : Array.from({ length: 4 }, () => <li class="skeleton" />)}
      </ul>
    </>
  );
}

function described(playlist: Playlist): string {
  return [t("music.trackCount", { count: playlist.trackCount }), duration(playlist.durationMs)].join(" · ");
}

/** Playlist with its tracks, and the entries for which there is no track. */
export function PlaylistView({ id }: { id: string }) {
  const { value, error, reload } = useLoaded<Playlist & { tracks: readonly FullTrack[]; missing: readonly string[] }>(`/playlists/${id}?limit=500`);
  const playlist = value.value;
  useEffect(() => {
    if (playlist) document.title = `${playlist.name} · Pelton`;
  }, [playlist]);
  if (error.value) return <Failure error={error.value} retry={reload} />;
  if (!playlist) return <div aria-busy="true">{Array.from({ length: 8 }, () => <TrackSkeleton />)}</div>;
  const { tracks } = playlist;
  return (
    <>
      <div class="view-head">
        <div>
          <h1 dir="auto">{playlist.name}</h1>
          <p class="dim">{described(playlist)}</p>
        </div>
      </div>
      <div class="view-head">
        <Actions tracks={tracks} title={playlist.name} />
        <a class="button" href={url(`/-/api/playlists/${id}.m3u8`)} download>
          <Icon name="download" />
          {t("music.m3u8")}
        </a>
      </div>
      <VirtualList
        count={tracks.length}
        rowHeight={ROW_HEIGHT}
        label={playlist.name}
        row={(index) => {
          const track = tracks[index];
          return track && <TrackRow track={track} hasAlbum onPlay={() => play(tracks, index)} />;
        }}
      />
      {playlist.missing.length > 0 && (
        <details class="credits">
          <summary>{t("music.missing", { count: playlist.missingCount })}</summary>
          <ul class="dim">
            {playlist.missing.map((entry) => (
              <li dir="auto">{entry}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
