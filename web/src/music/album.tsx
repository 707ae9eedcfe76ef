import { useEffect } from "preact/hooks";

import { duration, t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { Button } from "../ui/button.tsx";
import { downloadArchive } from "../ui/download.ts";
import { MenuButton, type MenuItem } from "../ui/menu.tsx";
import { Failure } from "../ui/message.tsx";
import { AlbumCard } from "./album-card.tsx";
import { Cover } from "./cover.tsx";
import { Heart } from "./favourites.tsx";
import { ALBUM_PAGES, useLoaded, useWhole } from "./load.ts";
import { shareItems } from "./share-items.ts";
import { enqueue, play, playShuffled } from "./player.ts";
import { addItems } from "./playlist-dialogs.tsx";
import { tintStyle } from "./tint.ts";
import { TrackRow, TrackSkeleton } from "./track-row.tsx";
import { ROW_HEIGHT } from "./tracks.tsx";
import type { Album, FullAlbum, FullArtist, FullTrack } from "./types.ts";
import { VirtualList } from "./virtual-list.tsx";

/** Album with its discs and tracks. */
export function AlbumView({ id }: { id: string }) {
  const { value: album, error, reload } = useWhole(`/albums/${id}`, ALBUM_PAGES);
  useEffect(() => {
    if (album) document.title = `${album.title} · Pelton`;
  }, [album]);
  if (error) return <Failure error={error} retry={reload} />;
  if (!album) return <AlbumLoading />;
  return (
    <div class="tinted" style={tintStyle(album.placeholder)}>
      <header class="hero">
        <Cover cover={album.cover} placeholder={album.placeholder} sizes="(max-width: 720px) 62vw, 280px" onLoad={() => !album.placeholder && reload()} />
        <div class="hero-text">
          <h1 dir="auto">{album.title}</h1>
          <p class="hero-by">
            <AlbumArtist album={album} />
          </p>
          <p class="dim">{facts(album)}</p>
          {album.genres.length > 0 && <Genres names={album.genres} />}
          <Actions tracks={album.tracks} title={album.title} id={album.id} />
        </div>
      </header>
      <Discs album={album} />
      <Credits tracks={album.tracks} />
      <MoreBy album={album} />
    </div>
  );
}

function facts({ date, trackCount, durationSeconds, plays }: Album): string {
  const year = date === undefined ? [] : [date.slice(0, 4)];
  const heard = plays > 0 ? [t("music.playCount", { count: plays })] : [];
  return [...year, t("music.trackCount", { count: trackCount }), duration(durationSeconds * 1000), ...heard].join(" · ");
}

function AlbumLoading() {
  return (
    <div class="tinted" aria-busy="true">
      <header class="hero">
        <span class="art skeleton" />
      </header>
      {Array.from({ length: 8 }, () => (
        <TrackSkeleton />
      ))}
    </div>
  );
}

function AlbumArtist({ album }: { album: Album }) {
  const [id] = album.artistIds;
  if (id === undefined) return <bdi>{album.artist}</bdi>;
  return (
    <a dir="auto" href={href(`music/artists/${id}`)}>
      {album.artist}
    </a>
  );
}

function Genres({ names }: { names: readonly string[] }) {
  return (
    <ul class="chips">
      {names.map((name) => (
        <li>
          <a dir="auto" href={href(`music/genres/${encodeURIComponent(name)}`)}>
            {name}
          </a>
        </li>
      ))}
    </ul>
  );
}

interface ActionsProps {
  tracks: readonly FullTrack[];
  title: string;
  /** Id of the album, if the list is an album. */
  id?: string;
  /** Further entries of the menu. */
  items?: readonly MenuItem[];
}

/** Buttons for a list of tracks. */
export function Actions({ tracks, title, id, items = [] }: ActionsProps) {
  return (
    <div class="actions">
      <Button primary icon="play" disabled={tracks.length === 0} onClick={() => play(tracks)}>
        {t("music.play")}
      </Button>
      <Button icon="shuffle" disabled={tracks.length < 2} onClick={() => playShuffled(tracks)}>
        {t("music.shuffle")}
      </Button>
      {id !== undefined && <Heart id={id} />}
      <MenuButton
        label={t("music.more", { title })}
        items={() => [
          { icon: "next", label: t("music.playNext"), run: () => enqueue(tracks, true) },
          { icon: "queue", label: t("music.playLast"), run: () => enqueue(tracks, false) },
          ...addItems(id === undefined ? tracks.map((it) => it.id) : [id]),
          { icon: "download", label: t("music.download"), run: () => downloadArchive(id === undefined ? tracks.map((it) => it.id) : [id]) },
          ...(id === undefined ? [] : shareItems(id, title)),
          ...items,
        ]}
      />
    </div>
  );
}

/** Tracks of an album, one list per disc. */
function Discs({ album }: { album: FullAlbum }) {
  const discs = new Map<number, FullTrack[]>();
  for (const track of album.tracks) {
    const disc = discs.get(track.disc);
    if (disc) disc.push(track);
    else discs.set(track.disc, [track]);
  }
  return [...discs].map(([disc, tracks]) => {
    const title = t("music.disc", { number: disc });
    return (
      <section>
        {discs.size > 1 && <h2 class="disc">{title}</h2>}
        <VirtualList
          count={tracks.length}
          rowHeight={ROW_HEIGHT}
          label={discs.size > 1 ? title : t("music.tracks")}
          row={(index) => {
            const track = tracks[index];
            return (
              track && (
                <TrackRow
                  track={track}
                  number={track.number}
                  hasArtist={track.artist !== album.artist}
                  onPlay={() => play(album.tracks, album.tracks.indexOf(track))}
                />
              )
            );
          }}
        />
      </section>
    );
  });
}

/** People whom the tags of the tracks name, each with all roles. */
function Credits({ tracks }: { tracks: readonly FullTrack[] }) {
  const people = new Map<string, { id: string | undefined; roles: Set<string> }>();
  for (const { role, name, part, artistId } of tracks.flatMap((track) => track.contributors)) {
    const person = people.get(name) ?? { id: artistId, roles: new Set<string>() };
    people.set(name, person);
    person.roles.add(part ?? role);
  }
  if (people.size === 0) return null;
  return (
    <details class="credits">
      <summary>{t("music.credits")}</summary>
      <dl>
        {[...people].map(([name, { id, roles }]) => (
          <div>
            <dt dir="auto">{id === undefined ? name : <a href={href(`music/artists/${id}`)}>{name}</a>}</dt>
            <dd class="dim" dir="auto">
              {[...roles].join(", ")}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** Other albums of the album's artist. */
function MoreBy({ album }: { album: Album }) {
  const id = album.compilation ? undefined : album.artistIds[0];
  const { value } = useLoaded<FullArtist>(id === undefined ? null : `/artists/${id}?limit=20`);
  const others = value.value?.albums.filter((it) => it.id !== album.id) ?? [];
  if (others.length === 0) return null;
  return (
    <section class="shelf">
      <header>
        <h2 dir="auto">{t("music.moreBy", { artist: album.artist })}</h2>
      </header>
      <ul>
        {others.map((it) => (
          <li key={it.id}>
            <AlbumCard album={it} sizes="(max-width: 720px) 150px, 190px" hasYear />
          </li>
        ))}
      </ul>
    </section>
  );
}
