import type { Track } from "./types.ts";

/** Entry of the queue. The same track can have several entries. */
export interface Entry {
  readonly key: number;
  readonly track: Track;
}

export type Repeat = "off" | "all" | "one";

/** Tracks to play, in the order in which they play. Values are never changed in place. */
export interface Queue {
  readonly entries: readonly Entry[];
  /** Index of the present entry; -1 if there is none. */
  readonly at: number;
  readonly repeat: Repeat;
  /** Keys of the entries in the order before shuffling, while the queue is shuffled. */
  readonly given: readonly number[] | null;
  /** Key of the next entry that is added. */
  readonly nextKey: number;
}

/** Number of tracks that a queue holds at most. */
export const ENTRIES_MAX = 5000;

export const EMPTY: Queue = { entries: [], at: -1, repeat: "off", given: null, nextKey: 1 };

type Random = () => number;

/** Returns the present entry, if any. */
export function present(queue: Queue): Entry | undefined {
  return queue.entries[queue.at];
}

function made(queue: Queue, tracks: readonly Track[], room: number): { entries: Entry[]; nextKey: number } {
  const entries = tracks.slice(0, Math.max(0, room)).map((track, index) => ({ key: queue.nextKey + index, track }));
  return { entries, nextKey: queue.nextKey + entries.length };
}

/** Replaces the queue and makes the track at `start` the present one. */
export function playNow(queue: Queue, tracks: readonly Track[], start = 0): Queue {
  // If the list is too long, the part from `start` on is kept.
  const from = tracks.length > ENTRIES_MAX ? Math.min(start, tracks.length - ENTRIES_MAX) : 0;
  const { entries, nextKey } = made(queue, tracks.slice(from), ENTRIES_MAX);
  const at = entries.length === 0 ? -1 : Math.min(Math.max(0, start - from), entries.length - 1);
  return { ...queue, entries, at, given: null, nextKey };
}

/** Inserts tracks behind the present one. */
export function addNext(queue: Queue, tracks: readonly Track[]): Queue {
  return insert(queue, tracks, queue.at + 1);
}

/** Adds tracks at the end. */
export function addLast(queue: Queue, tracks: readonly Track[]): Queue {
  return insert(queue, tracks, queue.entries.length);
}

function insert(queue: Queue, tracks: readonly Track[], index: number): Queue {
  const { entries: added, nextKey } = made(queue, tracks, ENTRIES_MAX - queue.entries.length);
  const entries = [...queue.entries.slice(0, index), ...added, ...queue.entries.slice(index)];
  const keys = added.map((entry) => entry.key);
  const before = queue.entries[index - 1]?.key;
  const place = queue.given && before !== undefined && index < queue.entries.length ? queue.given.indexOf(before) + 1 : (queue.given?.length ?? 0);
  const given = queue.given && [...queue.given.slice(0, place), ...keys, ...queue.given.slice(place)];
  return { ...queue, entries, given, nextKey, at: queue.at < 0 && entries.length > 0 ? 0 : queue.at };
}

/** Removes an entry. If it is the present one, the entry behind it becomes the present one. */
export function remove(queue: Queue, key: number): Queue {
  const index = queue.entries.findIndex((entry) => entry.key === key);
  if (index < 0) return queue;
  const entries = queue.entries.filter((entry) => entry.key !== key);
  const at = index < queue.at ? queue.at - 1 : Math.min(queue.at, entries.length - 1);
  return { ...queue, entries, at, given: queue.given && queue.given.filter((it) => it !== key) };
}

/** Moves an entry to an index. The present entry stays the present one. */
export function move(queue: Queue, key: number, to: number): Queue {
  const index = queue.entries.findIndex((entry) => entry.key === key);
  const entry = queue.entries[index];
  if (!entry) return queue;
  const presentKey = present(queue)?.key;
  const entries = queue.entries.filter((it) => it !== entry);
  entries.splice(Math.min(Math.max(0, to), entries.length), 0, entry);
  return { ...queue, entries, at: entries.findIndex((it) => it.key === presentKey) };
}

/** Gives the entries of a track a rating. */
export function rate(queue: Queue, id: string, rating: number): Queue {
  return { ...queue, entries: queue.entries.map((entry) => (entry.track.id === id ? { ...entry, track: { ...entry.track, rating } } : entry)) };
}

/** Makes an entry the present one. */
export function jump(queue: Queue, key: number): Queue {
  const at = queue.entries.findIndex((entry) => entry.key === key);
  return at < 0 ? queue : { ...queue, at };
}

/** Removes all entries. */
export function clear(queue: Queue): Queue {
  return { ...queue, entries: [], at: -1, given: null };
}

/**
 * Returns the index of the entry that follows the present one, or -1 at the end.
 *
 * @param isByUser true if the user asks for the next track, false if the present one has ended
 */
export function following(queue: Queue, isByUser: boolean): number {
  const { entries, at, repeat } = queue;
  if (entries.length === 0) return -1;
  if (repeat === "one" && !isByUser) return at;
  if (at + 1 < entries.length) return at + 1;
  return repeat === "off" ? -1 : 0;
}

/** Returns the index of the entry before the present one. */
export function preceding(queue: Queue): number {
  if (queue.at > 0) return queue.at - 1;
  return queue.repeat === "all" ? queue.entries.length - 1 : Math.min(0, queue.at);
}

export function setRepeat(queue: Queue, repeat: Repeat): Queue {
  return { ...queue, repeat };
}

/**
 * Shuffles the entries behind the present one, or restores the order of all entries before
 * shuffling.
 */
export function setShuffle(queue: Queue, isOn: boolean, random: Random = Math.random): Queue {
  if (isOn === (queue.given !== null)) return queue;
  if (!isOn) {
    const byKey = new Map(queue.entries.map((entry) => [entry.key, entry]));
    const entries = (queue.given ?? []).flatMap((key) => byKey.get(key) ?? []);
    const key = present(queue)?.key;
    return { ...queue, entries, given: null, at: entries.findIndex((entry) => entry.key === key) };
  }
  const played = queue.entries.slice(0, queue.at + 1);
  const rest = spread(queue.entries.slice(queue.at + 1), played.at(-1)?.track.artist, random);
  return { ...queue, entries: [...played, ...rest], given: queue.entries.map((entry) => entry.key) };
}

/** Replaces the queue by a shuffled one that begins with any of the tracks. */
export function playShuffled(queue: Queue, tracks: readonly Track[], random: Random = Math.random): Queue {
  const { entries, nextKey } = made(queue, tracks, ENTRIES_MAX);
  const given = entries.map((entry) => entry.key);
  return { ...queue, entries: spread(entries, undefined, random), at: entries.length > 0 ? 0 : -1, given, nextKey };
}

/**
 * Returns a random permutation in which no artist plays twice in a row, if there is one.
 *
 * An artist with more than half of the remaining entries must come next: later, too few entries of
 * other artists would be left to separate those of this artist.
 */
function spread(entries: readonly Entry[], before: string | undefined, random: Random): Entry[] {
  const rest = permuted(entries, random);
  const counts = new Map<string, number>();
  for (const { track } of rest) counts.set(track.artist, (counts.get(track.artist) ?? 0) + 1);
  const result: Entry[] = [];
  let last = before;
  while (rest.length > 0) {
    let forced: string | undefined;
    for (const [artist, count] of counts) {
      if (artist !== last && count > Math.floor(rest.length / 2)) forced = artist;
    }
    const fits = ({ track }: Entry) => (forced === undefined ? track.artist !== last : track.artist === forced);
    const index = Math.max(0, rest.findIndex(fits));
    const [entry] = rest.splice(index, 1);
    if (!entry) break;
    last = entry.track.artist;
    counts.set(last, (counts.get(last) ?? 1) - 1);
    result.push(entry);
  }
  return result;
}

/** Returns the entries in a random order (Fisher and Yates). */
function permuted(entries: readonly Entry[], random: Random): Entry[] {
  const result = [...entries];
  for (let last = result.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    const [a, b] = [result[last], result[other]];
    if (a && b) [result[last], result[other]] = [b, a];
  }
  return result;
}

/** Returns whether a stored value is a queue. */
export function isQueue(value: unknown): value is Queue {
  if (typeof value !== "object" || value === null) return false;
  const { entries, at, repeat, given, nextKey } = value as Record<string, unknown>;
  if (!Array.isArray(entries) || !Number.isInteger(at) || !Number.isInteger(nextKey)) return false;
  const isOrder = given === null || (Array.isArray(given) && given.length === entries.length);
  const isWithin = (at as number) >= -1 && (at as number) < entries.length;
  return isOrder && isWithin && ["off", "all", "one"].includes(repeat as string) && entries.every(isEntry);
}

function isEntry(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { key, track } = value as { key?: unknown; track?: Record<string, unknown> };
  if (!Number.isInteger(key) || typeof track !== "object" || track === null) return false;
  const texts = ["id", "title", "artist", "file"].every((name) => typeof track[name] === "string");
  return texts && Array.isArray(track["artistIds"]) && typeof track["durationMs"] === "number";
}
