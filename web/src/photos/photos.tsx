import "../shared.ts";

import { useMemo } from "preact/hooks";

import type { AreaProps } from "../areas.ts";
import { number, t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { Icon } from "../ui/icon.tsx";
import { more } from "./later.ts";
import { Pictures, type Target, useMore } from "./pictures.tsx";
import { sourceOf } from "./source.ts";
import { NoPictures } from "./timeline.tsx";

/** View of all photos by the time they were taken, or of those that a search finds. */
export default function Photos({ parts, query }: AreaProps) {
  const q = query.get("q")?.trim() ?? "";
  const isFavourites = query.has("favourites");
  const source = useMemo(() => sourceOf({ q, favourites: isFavourites }), [q, isFavourites]);
  const viewing = parts[0] && parts[0] !== "search" ? parts[0] : null;
  const targetOf = (id: string | null): Target => ({
    path: id ? `photos/${encodeURIComponent(id)}` : q ? "photos/search" : "photos",
    query: { ...(q ? { q } : {}), ...(isFavourites ? { favourites: "1" } : {}) },
  });
  const total = source.months.value ? source.sections.total : 0;
  const title = q ? t("photos.results", { q }) : t(isFavourites ? "photos.favourites" : "nav.photos");
  return (
    <div class="photos">
      <div class="view-head" inert={viewing !== null}>
        <h1 dir="auto">{title}</h1>
        {total > 0 && (
          <span class="dim number" title={number(total)}>
            {t("photos.count", { count: total })}
          </span>
        )}
        {!q && (
          <a
            class="icon-button"
            href={isFavourites ? href("photos") : href("photos", { favourites: "1" })}
            aria-current={isFavourites ? "true" : undefined}
            title={t("photos.favourites")}
            aria-label={t("photos.favourites")}
          >
            <Icon name="heart" filled={isFavourites} />
          </a>
        )}
      </div>
      <Pictures
        key={JSON.stringify(source.query)}
        source={source}
        viewing={viewing}
        at={query.get("at")}
        targetOf={targetOf}
        empty={<NoPictures isSearch={q !== ""} isFavourites={isFavourites} reload={() => void source.loadMonths()} />}
      />
    </div>
  );
}

const PIECES = { Pictures, NoPictures, sourceOf };

/** View of a folder, once its module is loaded. */
export function Folders({ parts, query }: AreaProps) {
  const failure = useMore(true);
  const folder = parts.filter(Boolean).join("/");
  const loaded = more.value;
  return failure || (loaded ? <loaded.FolderView key={folder} folder={folder} query={query} pieces={PIECES} /> : <div class="loading" aria-busy="true" />);
}
