import { useRef } from "preact/hooks";

import { api } from "../api.ts";
import { type MessageKey, t } from "../i18n/messages.ts";
import { navigate } from "../router.ts";
import { Message } from "../ui/message.tsx";
import { AlbumCard } from "./album-card.tsx";
import { Grid } from "./grid.tsx";
import { LettersBar } from "./letters-bar.tsx";
import { type Letter, find } from "./letters.ts";
import { paged, useList } from "./load.ts";
import type { Album, Page } from "./types.ts";

const ORDERS = ["title", "artist", "added", "date", "plays", "rating", "trending", "discover"] as const;

/** Query parameter of `/albums` for each kind of group. */
const PARAMETERS = { genres: "genre", years: "year", composers: "composer" } as const;

interface AlbumsProps {
  query: URLSearchParams;
  /** Group to which the list is limited. */
  group?: { kind: keyof typeof PARAMETERS; name: string };
}

/** All albums, or those of a group, in the order that the query names. */
export function Albums({ query, group }: AlbumsProps) {
  const asked = query.get("order");
  const order = ORDERS.find((it) => it === asked) ?? "title";
  const path = `/albums?order=${order}${group ? `&${PARAMETERS[group.kind]}=${encodeURIComponent(group.name)}` : ""}`;
  const list = useList<Album>(path, 100);
  const scroll = useRef<((item: number) => void) | null>(null);
  const { total } = list;
  const goTo = async (letter: Letter) => {
    const nameAt = async (index: number) => list.at(index)?.title ?? (await api<Page<Album>>(paged(path, index, 1))).items[0]?.title ?? "";
    // If the connection is lost, the letter cannot be found, and the list does not scroll.
    const index = await find(letter, total.value ?? 0, nameAt).catch(() => undefined);
    if (index !== undefined) scroll.current?.(index);
  };
  return (
    <>
      <div class="view-head">
        <h1 dir="auto">{group?.name ?? t("music.albums")}</h1>
        {total.value !== null && <span class="dim">{t("music.albumCount", { count: total.value })}</span>}
        <OrderSelect order={order} path={group ? `music/${group.kind}/${encodeURIComponent(group.name)}` : "music/albums"} />
      </div>
      {order === "title" && (total.value ?? 0) > 60 && <LettersBar onChoose={(letter) => void goTo(letter)} />}
      <Grid
        list={list}
        label={t("music.albums")}
        card={(album, width) => <AlbumCard album={album} sizes={`${Math.round(width)}px`} />}
        empty={
          <Message icon="album" title={t("music.noAlbums")}>
            {order !== "title" && <p>{t("music.noAlbumsHint")}</p>}
          </Message>
        }
        handle={scroll}
      />
    </>
  );
}

function OrderSelect({ order, path }: { order: string; path: string }) {
  return (
    <select
      class="input order"
      aria-label={t("music.order")}
      value={order}
      onChange={(event) => navigate(path, { replace: true, query: { order: event.currentTarget.value } })}
    >
      {ORDERS.map((it) => (
        <option value={it} selected={it === order}>
          {t(`music.order.${it}` as MessageKey)}
        </option>
      ))}
    </select>
  );
}
