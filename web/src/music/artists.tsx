import { useEffect, useMemo, useRef } from "preact/hooks";

import { api } from "../api.ts";
import { t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { Button } from "../ui/button.tsx";
import { Failure, Message } from "../ui/message.tsx";
import { AlbumCard, withTracks } from "./album-card.tsx";
import { Cover } from "./cover.tsx";
import { Heart } from "./favourites.tsx";
import { Grid, wholeList } from "./grid.tsx";
import { LettersBar } from "./letters-bar.tsx";
import { type Letter, find } from "./letters.ts";
import { ARTIST_PAGES, paged, useList, useWhole } from "./load.ts";
import { play, playShuffled } from "./player.ts";
import { tintStyle } from "./tint.ts";
import type { Album, Artist, Page } from "./types.ts";

/** All artists who have albums. */
export function Artists() {
  const list = useList<Artist>("/artists", 100);
  const scroll = useRef<((item: number) => void) | null>(null);
  const { total } = list;
  const goTo = async (letter: Letter) => {
    const nameAt = async (index: number) => (list.at(index) ?? (await api<Page<Artist>>(paged("/artists", index, 1))).items[0])?.sortName ?? "";
    // If the connection is lost, the letter cannot be found, and the list does not scroll.
    const index = await find(letter, total.value ?? 0, nameAt).catch(() => undefined);
    if (index !== undefined) scroll.current?.(index);
  };
  return (
    <>
      <div class="view-head">
        <h1>{t("music.artists")}</h1>
        {total.value !== null && <span class="dim">{t("music.artistCount", { count: total.value })}</span>}
      </div>
      {(total.value ?? 0) > 60 && <LettersBar onChoose={(letter) => void goTo(letter)} />}
      <Grid
        list={list}
        label={t("music.artists")}
        card={(artist, width) => <ArtistCard artist={artist} sizes={`${Math.round(width)}px`} />}
        empty={<Message icon="user" title={t("music.noArtists")} />}
        handle={scroll}
      />
    </>
  );
}

/** Picture and name of an artist. */
export function ArtistCard({ artist, sizes }: { artist: Artist; sizes: string }) {
  return (
    <a class="album album-link centred" href={href(`music/artists/${artist.id}`)}>
      <Cover cover={artist.cover} placeholder={artist.placeholder} sizes={sizes} icon="user" isRound />
      <span class="album-title" dir="auto">
        {artist.name}
      </span>
      <span class="album-by dim">
        {artist.albumCount > 0 ? t("music.albumCount", { count: artist.albumCount }) : t("music.trackCount", { count: artist.trackCount })}
      </span>
    </a>
  );
}

/** Artist with the artist's albums, the latest first. */
export function ArtistView({ id }: { id: string }) {
  const { value: artist, error, reload } = useWhole(`/artists/${id}`, ARTIST_PAGES);
  const albums = useMemo(() => artist?.albums.toSorted((a, b) => (b.date ?? "").localeCompare(a.date ?? "")), [artist]);
  useEffect(() => {
    if (artist) document.title = `${artist.name} · Pelton`;
  }, [artist]);
  if (error) return <Failure error={error} retry={reload} />;
  // Without the key, the header would move the empty cards down, a layout shift.
  const grid = <ArtistAlbums key={albums ? "albums" : "loading"} albums={albums} />;
  if (!artist || !albums) return <div aria-busy="true">{grid}</div>;
  const ids = albums.map((album) => album.id);
  return (
    <div class="tinted" style={tintStyle(artist.placeholder)}>
      <header class="hero small">
        <Cover cover={artist.cover} placeholder={artist.placeholder} sizes="200px" icon="user" isRound onLoad={() => !artist.placeholder && reload()} />
        <div class="hero-text">
          <h1 dir="auto">{artist.name}</h1>
          <p class="dim">{[t("music.albumCount", { count: artist.albumCount }), t("music.trackCount", { count: artist.trackCount })].join(" · ")}</p>
          {albums.length > 0 && (
            <div class="actions">
              <Button primary icon="play" onClick={() => void withTracks(ids, play)}>
                {t("music.play")}
              </Button>
              <Button icon="shuffle" onClick={() => void withTracks(ids, playShuffled)}>
                {t("music.shuffle")}
              </Button>
              <Heart id={artist.id} />
            </div>
          )}
        </div>
      </header>
      {grid}
    </div>
  );
}

/** Albums of an artist, or empty cards until they are loaded. */
function ArtistAlbums({ albums }: { albums: readonly Album[] | undefined }) {
  const list = useMemo(() => wholeList(albums), [albums]);
  return (
    <Grid
      list={list}
      label={t("music.albums")}
      card={(album, width) => <AlbumCard album={album} sizes={`${Math.round(width)}px`} hasYear />}
      empty={<Message icon="album" title={t("music.noAlbums")} />}
    />
  );
}
