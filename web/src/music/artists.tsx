import { useEffect, useRef } from "preact/hooks";

import { api } from "../api.ts";
import { t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { Button } from "../ui/button.tsx";
import { failureText } from "../ui/failure.ts";
import { Failure, Message } from "../ui/message.tsx";
import { toast } from "../ui/toast.tsx";
import { AlbumCard, AlbumSkeleton, type FullAlbum } from "./album-card.tsx";
import { Cover } from "./cover.tsx";
import { Heart } from "./favourites.tsx";
import { Grid } from "./grid.tsx";
import { LettersBar } from "./letters-bar.tsx";
import { type Letter, find } from "./letters.ts";
import { paged, useList, useLoaded } from "./load.ts";
import { play, playShuffled } from "./player.ts";
import { tintStyle } from "./tint.ts";
import type { Album, Artist, FullTrack, Page } from "./types.ts";

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
  const { value, error, reload } = useLoaded<Artist & { albums: readonly Album[] }>(`/artists/${id}?limit=500`);
  const artist = value.value;
  useEffect(() => {
    if (artist) document.title = `${artist.name} · Pelton`;
  }, [artist]);
  if (error.value) return <Failure error={error.value} retry={reload} />;
  if (!artist)
    return (
      <div class="cells auto" aria-busy="true">
        {Array.from({ length: 6 }, () => (
          <AlbumSkeleton />
        ))}
      </div>
    );
  const albums = [...artist.albums].sort((a, b) => (b.date ?? "").localeCompare(a.date ?? ""));
  return (
    <div class="tinted" style={tintStyle(artist.placeholder)}>
      <header class="hero small">
        <Cover cover={artist.cover} placeholder={artist.placeholder} sizes="200px" icon="user" isRound onLoad={() => !artist.placeholder && reload()} />
        <div class="hero-text">
          <h1 dir="auto">{artist.name}</h1>
          <p class="dim">{[t("music.albumCount", { count: artist.albumCount }), t("music.trackCount", { count: artist.trackCount })].join(" · ")}</p>
          {albums.length > 0 && (
            <div class="actions">
              <Button primary icon="play" onClick={() => void withAll(albums, play)}>
                {t("music.play")}
              </Button>
              <Button icon="shuffle" onClick={() => void withAll(albums, playShuffled)}>
                {t("music.shuffle")}
              </Button>
              <Heart id={artist.id} />
            </div>
          )}
        </div>
      </header>
      <div class="cells auto">
        {albums.map((album) => (
          <AlbumCard key={album.id} album={album} sizes="190px" hasYear />
        ))}
      </div>
      {albums.length === 0 && <Message icon="album" title={t("music.noAlbums")} />}
    </div>
  );
}

/** Maximum number of albums of an artist that are added to the queue at once. */
const ALBUMS_MAX = 60;

/** Loads the tracks of albums and passes them to `use`, a function of the player. */
async function withAll(albums: readonly Album[], use: (tracks: readonly FullTrack[]) => void): Promise<void> {
  try {
    const loaded = await Promise.all(albums.slice(0, ALBUMS_MAX).map((album) => api<FullAlbum>(`/albums/${album.id}?limit=500`)));
    use(loaded.flatMap((album) => album.tracks));
  } catch (error) {
    toast(failureText(error));
  }
}
