import type { ComponentChildren } from "preact";

import { t } from "../i18n/messages.ts";
import { Failure, Message } from "../ui/message.tsx";
import { AlbumCard } from "./album-card.tsx";
import { ArtistCard } from "./artists.tsx";
import { useLoaded } from "./load.ts";
import { play } from "./player.ts";
import { TrackRow, TrackSkeleton } from "./track-row.tsx";
import type { Album, Artist, FullTrack } from "./types.ts";

interface Found {
  readonly artists: readonly Artist[];
  readonly albums: readonly Album[];
  readonly tracks: readonly FullTrack[];
}

/** Artists, albums and tracks with the words of the query. */
export function Search({ query }: { query: URLSearchParams }) {
  const words = query.get("q")?.trim() ?? "";
  const { value, error, reload } = useLoaded<Found>(words ? `/search?${new URLSearchParams({ q: words, limit: "24" })}` : null);
  if (!words) return <Message icon="search" title={t("music.searchHint")} />;
  if (error.value) return <Failure error={error.value} retry={reload} />;
  const found = value.value;
  if (!found) return <div aria-busy="true">{Array.from({ length: 6 }, () => <TrackSkeleton />)}</div>;
  const { artists, albums, tracks } = found;
  if (artists.length + albums.length + tracks.length === 0) return <Message icon="search" title={t("music.nothingFound", { words })} />;
  return (
    <>
      <h1 class="hidden">{t("music.results", { words })}</h1>
      <Results title={t("music.artists")}>{artists.map((artist) => <li key={artist.id}><ArtistCard artist={artist} sizes="150px" /></li>)}</Results>
      <Results title={t("music.albums")}>{albums.map((album) => <li key={album.id}><AlbumCard album={album} sizes="190px" /></li>)}</Results>
      {tracks.length > 0 && (
        <section class="shelf">
          <header>
            <h2>{t("music.tracks")}</h2>
          </header>
          {tracks.map((track, index) => (
            <TrackRow key={track.id} track={track} hasAlbum onPlay={() => play(tracks, index)} />
          ))}
        </section>
      )}
    </>
  );
}

function Results({ title, children }: { title: string; children: readonly ComponentChildren[] }) {
  if (children.length === 0) return null;
  return (
    <section class="shelf">
      <header>
        <h2>{title}</h2>
      </header>
      <ul>{children}</ul>
    </section>
  );
}
