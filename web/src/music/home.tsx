import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

import { api } from "../api.ts";
import { number, t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { IconButton } from "../ui/button.tsx";
import { EmptyLibrary } from "../ui/empty-library.tsx";
import { Failure } from "../ui/message.tsx";
import { AlbumCard, AlbumSkeleton } from "./album-card.tsx";
import { paged, useLoaded } from "./load.ts";
import type { Album, Page } from "./types.ts";

/** Number of albums on a shelf, a row of this view. */
const SHELF = 14;
/** Orders of the shelves, from the top. */
const SHELVES = ["added", "trending", "plays", "discover"] as const;

interface Statistics {
  readonly tracks: number;
  readonly albums: number;
  readonly artists: number;
  readonly durationSeconds: number;
}

/** First view of the area: shelves of albums. */
export function Home() {
  const { value, error, reload } = useLoaded<Statistics>("");
  const shelves = SHELVES.map((order) => useLoaded<Page<Album>>(paged(`/albums?order=${order}`, 0, SHELF)));
  // Shelves below one that has not loaded wait for it, because it disappears if it is empty.
  const first = shelves.findIndex((it) => !it.value.value && !it.error.value);
  if (error.value) return <Failure error={error.value} retry={reload} />;
  const reloadAll = () => [{ reload }, ...shelves].forEach((it) => it.reload());
  if (value.value?.tracks === 0) return <Empty reload={reloadAll} />;
  return (
    <>
      <p class="dim summary">{value.value ? summary(value.value) : "\u00a0"}</p>
      {shelves.slice(0, first < 0 ? SHELVES.length : first + 1).map(({ value: page }, index) => (
        <Shelf order={SHELVES[index] ?? "added"} page={page.value} />
      ))}
      {first < 0 && value.value && <RandomShelf total={value.value.albums} />}
    </>
  );
}

function Empty({ reload }: { reload: () => void }) {
  return (
    <EmptyLibrary icon="music" title={t("music.empty")} onScanned={reload}>
      <p>{t("music.emptyHint")}</p>
    </EmptyLibrary>
  );
}

function summary({ albums, artists, tracks, durationSeconds }: Statistics): string {
  const [unit, seconds] = durationSeconds < 3600 ? (["minute", 60] as const) : (["hour", 3600] as const);
  const duration = number(durationSeconds / seconds, { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 0 });
  return [t("music.albumCount", { count: albums }), t("music.artistCount", { count: artists }), t("music.trackCount", { count: tracks }), duration].join(" · ");
}

/** Row of albums in the given order. Nothing is shown if there are no albums. */
function Shelf({ order, page }: { order: (typeof SHELVES)[number]; page: Page<Album> | undefined }) {
  if (page?.total === 0) return null;
  return (
    <Row
      albums={page?.items}
      head={
        <h2>
          <a href={href("music/albums", { order })}>{t(`music.order.${order}`)}</a>
        </h2>
      }
    />
  );
}

/** Row of random albums, with a button that chooses others. */
function RandomShelf({ total }: { total: number }) {
  const albums = useSignal<readonly Album[] | undefined>(undefined);
  const draw = useSignal(0);
  useEffect(() => {
    const controller = new AbortController();
    const offsets = drawn(total, SHELF);
    const requests = offsets.map((offset) => api<Page<Album>>(paged("/albums", offset, 1), { signal: controller.signal }));
    // Without a response, this shelf does not change; the other shelves show the error.
    Promise.all(requests).then(
      (pages) => (albums.value = pages.flatMap((page) => page.items)),
      () => undefined,
    );
    return () => controller.abort();
  }, [total, draw.value]);
  if (total === 0) return null;
  return (
    <Row
      albums={albums.value}
      head={
        <>
          <h2>{t("music.random")}</h2>
          <IconButton icon="refresh" label={t("music.drawAgain")} onClick={() => (draw.value += 1)} />
        </>
      }
    />
  );
}

/** Returns `count` different random numbers below `total`, or all of them. */
function drawn(total: number, count: number): number[] {
  const numbers = new Set<number>();
  while (numbers.size < Math.min(total, count)) numbers.add(Math.floor(Math.random() * total));
  return [...numbers];
}

function Row({ head, albums }: { head: ComponentChildren; albums: readonly Album[] | undefined }) {
  return (
    <section class="shelf">
      <header>{head}</header>
      <ul>
        {albums
          ? albums.map((album) => (
              <li key={album.id}>
                <AlbumCard album={album} sizes="(max-width: 720px) 150px, 190px" />
              </li>
            ))
          : Array.from({ length: 8 }, () => (
              <li>
                <AlbumSkeleton />
              </li>
            ))}
      </ul>
    </section>
  );
}
