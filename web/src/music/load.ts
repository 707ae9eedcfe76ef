import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { api } from "../api.ts";
import { PagedList } from "./pages.ts";
import type { Page } from "./types.ts";

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

/** Drops the kept response for a target of the API, because it has changed. */
export function forget(path: string): void {
  kept.delete(path);
}

/** State of a request. */
export interface Loaded<T> {
  readonly value: ReadonlySignal<T | undefined>;
  readonly error: ReadonlySignal<unknown>;
  readonly reload: () => void;
}

/** Loads the response for a target of the API while the view is shown. `null` loads nothing. */
export function useLoaded<T>(path: string | null): Loaded<T> {
  const value = useSignal(path === null ? undefined : (kept.get(path) as T | undefined));
  const error = useSignal<unknown>(null);
  const attempt = useSignal(0);
  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    value.value = kept.get(path) as T | undefined;
    error.value = null;
    api<T>(path, { signal: controller.signal }).then(
      (response) => {
        keep(kept, path, response);
        value.value = response;
      },
      (reason: unknown) => {
        // Content that is already shown stays, so that a lost connection does not empty the view.
        if (!controller.signal.aborted && value.value === undefined) error.value = reason;
      },
    );
    return () => controller.abort();
  }, [path, attempt.value]);
  return { value, error, reload: () => (attempt.value += 1) };
}

/**
 * Returns the list at a target of the API, which is loaded in pages. Requests are aborted when the
 * view closes.
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
  return list;
}

/** Returns a target of the API with the parameters for a page. */
export function paged(path: string, offset: number, limit: number): string {
  return `${path}${path.includes("?") ? "&" : "?"}offset=${offset}&limit=${limit}`;
}
