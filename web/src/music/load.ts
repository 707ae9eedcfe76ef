import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";

import { api } from "../api.ts";
import { useRecovery } from "../ui/message.tsx";
import { PagedList } from "./pages.ts";
import type { FullAlbum, FullArtist, FullTrack, Page } from "./types.ts";

/** Maximum number of responses that are kept, so that Back shows a view at once. */
const KEPT_MAX = 40;
const kept = new Map<string, unknown>();
const keptLists = new Map<string, PagedList<unknown>>();

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const oldest = map.keys().next();
  if (map.size > KEPT_MAX && !oldest.done) map.delete(oldest.value);
}

/** Number of calls of `forget`. */
let forgotten = 0;

/**
 * Drops the cached response for an API target. Call it when the object changes. Responses to requests
 * that have been sent before are not kept.
 */
export function forget(path: string): void {
  kept.delete(path);
  forgotten += 1;
}

/** State of a request. */
export interface Loaded<T> {
  readonly value: ReadonlySignal<T | undefined>;
  readonly error: ReadonlySignal<unknown>;
  readonly reload: () => void;
}

/**
 * Loads the response for a target of the API while the view is shown. `null` loads nothing. A request
 * that failed is repeated after a login, and once the server responds again.
 */
export function useLoaded<T>(path: string | null): Loaded<T> {
  const value = useSignal(path === null ? undefined : (kept.get(path) as T | undefined));
  const error = useSignal<unknown>(null);
  const attempt = useSignal(0);
  const hasFailed = useRef(false);
  const reload = () => (attempt.value += 1);
  useRecovery(() => hasFailed.current && reload());
  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    value.value = kept.get(path) as T | undefined;
    error.value = null;
    hasFailed.current = false;
    const before = forgotten;
    api<T>(path, { signal: controller.signal }).then(
      (response) => {
        if (forgotten === before) keep(kept, path, response);
        value.value = response;
      },
      (reason: unknown) => {
        if (controller.signal.aborted) return;
        hasFailed.current = true;
        // Content that is already shown stays, so that a lost connection does not empty the view.
        if (value.value === undefined) error.value = reason;
      },
    );
    return () => controller.abort();
  }, [path, attempt.value]);
  return { value, error, reload };
}

/**
 * Returns the list at a target of the API, which is loaded in pages. Requests are aborted when the
 * view closes. Pages that could not be loaded are loaded after a login, and once the server responds
 * again.
 */
export function useList<T>(path: string, pageSize: number): PagedList<T> {
  const list = useMemo(() => {
    const found = keptLists.get(path) as PagedList<T> | undefined;
    return found && !found.error.value ? found : new PagedList<T>((offset, limit, signal) => api<Page<T>>(paged(path, offset, limit), { signal }), pageSize);
  }, [path]);
  useEffect(() => {
    keep(keptLists, path, list as PagedList<unknown>);
    list.want(0, 1);
    return () => list.stop();
  }, [list]);
  useRecovery(() => list.error.value && list.again());
  return list;
}

/** Returns a target of the API with the parameters for a page. */
export function paged(path: string, offset: number, limit: number): string {
  return `${path}${path.includes("?") ? "&" : "?"}offset=${offset}&limit=${limit}`;
}

/** Maximum number of items in one response of the API. */
const PAGE_SIZE = 500;

/** Returns the target of the API for the start of a whole list or object. */
export function startOf(path: string): string {
  return paged(path, 0, PAGE_SIZE);
}

/** How the pages of a list or object become one. */
export interface Pages<R> {
  /** Returns how many items a response has, of how many. */
  readonly extent: (response: R) => readonly [count: number, total: number];
  /** Returns a response with the items of both, or `null` if the second is of another state. */
  readonly join: (start: R, next: R) => R | null;
}

/** Loads what follows the first page, and returns the whole; `null` if it changed meanwhile. */
export async function loadRest<R>(start: R, { extent, join }: Pages<R>, load: (offset: number) => Promise<R>): Promise<R | null> {
  let whole = start;
  for (;;) {
    const [count, total] = extent(whole);
    if (count >= total) return whole;
    const next = await load(count);
    const joined = extent(next)[0] === 0 ? null : join(whole, next);
    if (!joined) return null;
    whole = joined;
  }
}

/** Loads a list or object at a target of the API with all its pages. */
export async function loadWhole<R>(path: string, pages: Pages<R>): Promise<R> {
  const whole = await loadRest(await api<R>(startOf(path)), pages, (offset) => api<R>(paged(path, offset, PAGE_SIZE)));
  return whole ?? loadWhole(path, pages);
}

/** Pages of an album. */
export const ALBUM_PAGES: Pages<FullAlbum> = {
  extent: ({ tracks, trackCount }) => [tracks.length, trackCount],
  join: (start, next) => (next.trackCount === start.trackCount ? { ...start, tracks: [...start.tracks, ...next.tracks] } : null),
};

/** Pages of an artist. */
export const ARTIST_PAGES: Pages<FullArtist> = {
  extent: ({ albums, albumCount }) => [albums.length, Math.max(albumCount, albums.length)],
  join: (start, next) => (next.albumCount === start.albumCount ? { ...start, albums: [...start.albums, ...next.albums] } : null),
};

/** Number of albums whose tracks are loaded at the same time. */
const ALBUMS_AT_ONCE = 8;

/** Loads the tracks of albums, one album after the other, until there are `max` of them. */
export async function loadTracks(ids: readonly string[], max: number): Promise<readonly FullTrack[]> {
  const tracks: FullTrack[] = [];
  for (let at = 0; at < ids.length && tracks.length < max; at += ALBUMS_AT_ONCE) {
    const albums = await Promise.all(ids.slice(at, at + ALBUMS_AT_ONCE).map((id) => loadWhole(`/albums/${id}`, ALBUM_PAGES)));
    tracks.push(...albums.flatMap((album) => album.tracks));
  }
  return tracks;
}

/**
 * Loads a list or object at a target of the API with all its pages while the view is shown. While
 * it is loaded again, the old one stays.
 */
export function useWhole<R>(path: string, pages: Pages<R>): { value: R | null; error: unknown; reload: () => void } {
  const { value, error, reload } = useLoaded<R>(startOf(path));
  const whole = useSignal<R | null>(null);
  const failure = useSignal<unknown>(null);
  const first = value.value;
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const load = async (start: R) => {
      const loaded = await loadRest(start, pages, (offset) => api<R>(paged(path, offset, PAGE_SIZE), { signal }));
      if (loaded) {
        whole.value = loaded;
      } else {
        forget(startOf(path));
        reload();
      }
    };
    failure.value = null;
    if (first)
      load(first).catch((reason: unknown) => {
        if (!signal.aborted) failure.value = reason;
      });
    return () => controller.abort();
  }, [first]);
  // A response that is complete is shown at once.
  const isComplete = first && pages.extent(first)[0] === pages.extent(first)[1];
  return { value: whole.value ?? (isComplete ? first : null), error: error.value ?? failure.value, reload };
}
