import { t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { Icon } from "../ui/icon.tsx";
import { toast } from "../ui/toast.tsx";
import { failureText } from "../ui/failure.ts";
import { Cover } from "./cover.tsx";
import { loadTracks } from "./load.ts";
import { enqueue, play } from "./player.ts";
import { ENTRIES_MAX } from "./queue.ts";
import type { Album, FullTrack } from "./types.ts";

interface AlbumCardProps {
  album: Album;
  /** Width on the page, as in the attribute `sizes`. */
  sizes: string;
  /** True to show the year instead of the artist. */
  hasYear?: boolean;
}

/** Cover, title and artist of an album, with a button that plays it. */
export function AlbumCard({ album, sizes, hasYear = false }: AlbumCardProps) {
  return (
    <div class="album">
      <a class="album-link" href={href(`music/albums/${album.id}`)}>
        <Cover cover={album.cover} placeholder={album.placeholder} sizes={sizes} />
        <span class="album-title" dir="auto">
          {album.title}
        </span>
        <span class="album-by dim" dir="auto">
          {hasYear ? yearOf(album) : album.artist}
        </span>
      </a>
      <button type="button" class="album-play" aria-label={t("music.playTitle", { title: album.title })} onClick={() => void withTracks([album.id], play)}>
        <Icon name="play" filled />
      </button>
    </div>
  );
}

/** Empty card, shown instead of an album that is not loaded yet. */
export function AlbumSkeleton() {
  return (
    <div class="album" aria-hidden="true">
      <span class="art skeleton" />
      <span class="skeleton line" />
      <span class="skeleton line short" />
    </div>
  );
}

/** Returns the year of an album, or a no-break space, which keeps the height of the line. */
function yearOf({ date }: Pick<Album, "date">): string {
  return date?.slice(0, 4) ?? "\u00a0";
}

/** Loads the tracks of an album and adds them to the queue. */
export async function enqueueAlbum(id: string, isNext: boolean): Promise<void> {
  await withTracks([id], (tracks) => enqueue(tracks, isNext));
}

/** Loads as many tracks of albums as the queue can hold, and passes them to the player. */
export async function withTracks(ids: readonly string[], use: (tracks: readonly FullTrack[]) => void): Promise<void> {
  try {
    use(await loadTracks(ids, ENTRIES_MAX));
  } catch (error) {
    toast(failureText(error));
  }
}
