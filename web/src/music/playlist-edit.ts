import { type Signal, signal } from "@preact/signals";

import { api } from "../api.ts";
import { type Pages, forget, startOf } from "./load.ts";
import type { FullPlaylist, FullTrack, Page, Playlist } from "./types.ts";

/** Pages of the list of playlists. */
export const PLAYLIST_PAGES: Pages<Page<Playlist>> = {
  extent: ({ items, total }) => [items.length, total],
  join: (start, next) => (next.total === start.total ? { ...start, items: [...start.items, ...next.items] } : null),
};

/** Track of a playlist. The key stays the same when the track moves. */
export interface Entry {
  readonly key: number;
  readonly track: FullTrack;
}

type Method = "PUT" | "POST" | "DELETE";

/** Function that sends a change of a playlist; `rest` is the path below that of the playlist. */
type Send = (method: Method, rest: string, query: Readonly<Record<string, string>>) => Promise<Pick<Playlist, "changed">>;

/** Returns a list in which the item at the index `from` has moved to the index `to`. */
export function moved<T>(list: readonly T[], from: number, to: number): readonly T[] {
  const rest = list.toSpliced(from, 1);
  return rest.toSpliced(to, 0, ...list.slice(from, from + 1));
}

/**
 * Playlist that its owner changes. Changes are shown at once, and sent one after another. Each
 * request names the state that it changes, and the track at its position. The server refuses it if
 * the playlist was changed elsewhere, or a scan has changed the positions. After a refusal nothing
 * more is sent.
 */
export class PlaylistEditor {
  readonly name: Signal<string>;
  readonly entries: Signal<readonly Entry[]>;
  readonly #send: Send;
  readonly #onRefused: (error: unknown) => void;
  #changed: string;
  #isRefused = false;
  /** Number of changes to which the server has not responded. */
  #unsent = 0;
  #sent: Promise<void> = Promise.resolve();

  constructor(playlist: FullPlaylist, send: Send, onRefused: (error: unknown) => void) {
    this.name = signal(playlist.name);
    this.entries = signal(playlist.tracks.map((track, key) => ({ key, track })));
    this.#changed = playlist.changed;
    this.#send = send;
    this.#onRefused = onRefused;
  }

  /** Resolves when all changes made so far have been sent. */
  get sent(): Promise<void> {
    return this.#sent;
  }

  /**
   * Returns whether a response shows a later state than this editor. A response from before one of
   * the editor's own changes may arrive after it, for example if a kept view is edited while it is
   * loaded again.
   */
  isOutdatedBy({ changed, trackCount }: Playlist): boolean {
    if (this.#isRefused) return true;
    if (this.#unsent > 0) return false;
    // Times in ISO 8601 sort as texts. A scan may change the number of tracks, but not the time.
    return changed > this.#changed || (changed === this.#changed && trackCount !== this.entries.value.length);
  }

  rename(name: string): void {
    this.name.value = name;
    this.#queue("PUT", "", { name });
  }

  move(key: number, to: number): void {
    const from = this.#indexOf(key);
    const entry = this.entries.value[from];
    if (!entry || from === to) return;
    this.entries.value = moved(this.entries.value, from, to);
    this.#queue("PUT", `/tracks/${from}`, { to: String(to), track: entry.track.id });
  }

  /** Removes an entry. Returns a function that puts it back. */
  remove(key: number): () => void {
    const at = this.#indexOf(key);
    const entry = this.entries.value[at];
    if (!entry) return () => undefined;
    this.entries.value = this.entries.value.toSpliced(at, 1);
    this.#queue("DELETE", "/tracks", { index: String(at), track: entry.track.id });
    return () => this.#insert(entry, at);
  }

  #insert(entry: Entry, index: number): void {
    const at = Math.min(index, this.entries.value.length);
    this.entries.value = this.entries.value.toSpliced(at, 0, entry);
    this.#queue("POST", "/tracks", { track: entry.track.id, at: String(at) });
  }

  #indexOf(key: number): number {
    return this.entries.value.findIndex((entry) => entry.key === key);
  }

  #queue(method: Method, rest: string, query: Readonly<Record<string, string>>): void {
    this.#unsent += 1;
    this.#sent = this.#sent.then(async () => {
      if (this.#isRefused) return;
      try {
        this.#changed = (await this.#send(method, rest, { ...query, changed: this.#changed })).changed;
        this.#unsent -= 1;
      } catch (error) {
        this.#isRefused = true;
        this.#onRefused(error);
      }
    });
  }
}

/**
 * Returns the target of the API for a playlist, or for what `rest` names below it. The id may come
 * from the address of the page.
 */
export function playlistTarget(id: string, rest = ""): string {
  return `/playlists/${encodeURIComponent(id)}${rest}`;
}

/**
 * Waits for the response to a request that changes a playlist, and returns it. The kept states of
 * the playlist and of the list of playlists are dropped before and after.
 */
async function awaitChange<T>(id: string, response: Promise<T>): Promise<T> {
  const forgetAll = () => [playlistTarget(id), "/playlists"].map(startOf).forEach(forget);
  forgetAll();
  try {
    return await response;
  } finally {
    forgetAll();
  }
}

/** Returns the function that sends the changes of a playlist to the server. */
export function senderOf(id: string): Send {
  return (method, rest, query) => awaitChange(id, api<Playlist>(`${playlistTarget(id, rest)}?${new URLSearchParams(query)}`, { method }));
}

/** Appends tracks, or all tracks of albums, to a playlist. */
export async function append(id: string, ids: readonly string[]): Promise<void> {
  const form = new URLSearchParams(ids.map((track) => ["track", track]));
  await awaitChange(id, api<Playlist>(playlistTarget(id, "/tracks"), { method: "POST", form }));
}

/** Creates a playlist with these tracks, and returns its id. */
export async function create(name: string, ids: readonly string[]): Promise<string> {
  const form = new URLSearchParams([["name", name], ...ids.map((track) => ["track", track])]);
  const { id } = await api<Playlist>("/playlists", { method: "POST", form });
  forget(startOf("/playlists"));
  return id;
}

/** Deletes a playlist. */
export async function deletePlaylist(id: string): Promise<void> {
  await awaitChange(id, api(playlistTarget(id), { method: "DELETE" }));
}
