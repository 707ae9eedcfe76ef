import { useSignal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import { ApiError, api } from "../api.ts";
import { url } from "../base.ts";
import { t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { session } from "../session.ts";
import { openShare } from "../share/open.ts";
import { IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Failure, Message } from "../ui/message.tsx";
import { crumbs, folderPath } from "./paths.ts";
import { VideoViewer, type Video } from "./video.tsx";
import type { PicturesProps, Target } from "./pictures.tsx";
import type { Query, Source } from "./source.ts";

interface Folder {
  readonly name: string;
  readonly path: string;
  readonly pictures: number;
  /** Target of a picture of the folder, if it has one. */
  readonly front: string | null;
  readonly colour?: string | null;
}

interface Content {
  readonly path: string;
  readonly folders: readonly Folder[];
  readonly pictures: number;
  readonly videos: readonly Video[];
}

/** Components from the module of the first view, which this module cannot import. */
export interface Pieces {
  readonly Pictures: FunctionComponent<PicturesProps>;
  readonly NoPictures: FunctionComponent<{ isSearch: boolean; isFavourites: boolean; reload: () => void }>;
  readonly sourceOf: (query: Query) => Source;
}

/** View of a folder: folders in it, its pictures and its videos. */
export function FolderView({ folder, query, pieces }: { folder: string; query: URLSearchParams; pieces: Pieces }) {
  const { Pictures, NoPictures, sourceOf } = pieces;
  const content = useSignal<Content | null>(null);
  const error = useSignal<unknown>(null);
  const source = useMemo(() => sourceOf({ folder }), [folder]);
  const video = query.get("video");
  const viewing = video === null ? query.get("photo") : null;
  const load = (abort?: AbortSignal) => {
    error.value = null;
    api<Content>(`/folders?path=${encodeURIComponent(folder)}`, { signal: abort }).then(
      (value) => (content.value = value),
      (reason: unknown) => {
        if (!abort?.aborted) error.value = reason;
      },
    );
  };
  useEffect(() => {
    const abort = new AbortController();
    if (!source.place) scrollTo(0, 0);
    load(abort.signal);
    return () => abort.abort();
  }, [folder]);
  const videoHref = (name: string) => href(folderPath(folder), { video: name });
  const targetOf = (id: string | null): Target => ({ path: folderPath(folder), query: id ? { photo: id } : {} });
  const shown = error.value === null ? content.value : null;
  return (
    <div class="photos">
      <div inert={shown !== null && (viewing ?? video) !== null}>
        <Crumbs folder={folder} hasOnlyVideos={shown !== null && shown.pictures + shown.folders.length === 0} />
        {error.value !== null && <FolderFailure error={error.value} retry={() => load()} />}
        {!shown && error.value === null && <div class="loading" aria-busy="true" />}
        {shown && shown.folders.length > 0 && (
          <ul class="folder-cards">
            {shown.folders.map((it) => (
              <FolderCard key={it.path} folder={it} />
            ))}
          </ul>
        )}
        {shown && shown.videos.length > 0 && <Videos videos={shown.videos} hrefOf={videoHref} />}
      </div>
      {shown && video !== null && <VideoViewer key={folder} videos={shown.videos} name={video} path={folderPath(folder)} />}
      {shown && shown.pictures > 0 && (
        <div inert={video !== null}>
          <Pictures source={source} viewing={viewing} at={query.get("at")} targetOf={targetOf} empty={null} />
        </div>
      )}
      {shown &&
        shown.pictures + shown.folders.length + shown.videos.length === 0 &&
        (folder ? <Message icon="folder" title={t("folders.empty")} /> : <NoPictures isSearch={false} isFavourites={false} reload={() => load()} />)}
    </div>
  );
}

function Crumbs({ folder, hasOnlyVideos }: { folder: string; hasOnlyVideos: boolean }) {
  const path = crumbs(folder);
  const last = path.at(-1);
  return (
    <div class="view-head">
      <h1 class="hidden">{last?.name ?? t("nav.folders")}</h1>
      <nav class="crumbs" aria-label={t("folders.path")}>
        <a href={href("folders")} aria-current={last ? undefined : "page"}>
          {t("folders.root")}
        </a>
        {path.map((it) => (
          <>
            <Icon name="forward" />
            <a href={href(folderPath(it.path))} aria-current={it === last ? "page" : undefined}>
              <bdi>{it.name}</bdi>
            </a>
          </>
        ))}
      </nav>
      {last && session.value.name !== null && (
        <IconButton icon="link" label={t("photos.share")} onClick={() => void openShare({ folder, name: last.name, hasOnlyVideos })} />
      )}
    </div>
  );
}

function FolderCard({ folder: { name, path, pictures, front, colour } }: { folder: Folder }) {
  const target = front ? url(front) : "";
  const side = (size: number) => `${target}?w=${size}&h=${(size * 3) / 4}&fit=cover`;
  return (
    <li>
      <a class="folder-card" href={href(folderPath(path))}>
        <span class="folder-front" style={colour ? { backgroundColor: colour } : {}}>
          {front ? (
            <img
              alt=""
              loading="lazy"
              decoding="async"
              src={side(320)}
              srcset={`${side(320)} 320w, ${side(640)} 640w`}
              sizes="(max-width: 720px) 46vw, 240px"
              onError={(event) => event.currentTarget.remove()}
            />
          ) : (
            <Icon name="folder" />
          )}
        </span>
        <span class="folder-name">
          <bdi>{name}</bdi>
        </span>
        <span class="dim">{t("photos.count", { count: pictures })}</span>
      </a>
    </li>
  );
}

/** Tiles of videos. Nothing of a video is loaded until it is opened. */
function Videos({ videos, hrefOf }: { videos: readonly Video[]; hrefOf: (name: string) => string }) {
  return (
    <section aria-labelledby="videos">
      <h2 id="videos">{t("folders.videos")}</h2>
      <ul class="folder-cards">
        {videos.map(({ name }) => (
          <li key={name}>
            <a class="folder-card video-card" href={hrefOf(name)}>
              <span class="folder-front">
                <Icon name="play" />
              </span>
              <span class="folder-name">
                <bdi>{name}</bdi>
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function FolderFailure({ error, retry }: { error: unknown; retry: () => void }) {
  if (error instanceof ApiError && error.status === 404) return <Message icon="folder" title={t("folders.gone")} />;
  return <Failure error={error} retry={retry} />;
}
