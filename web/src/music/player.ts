import { batch, computed, effect, signal } from "@preact/signals";

import { ApiError, api, recoveries, request } from "../api.ts";
import { root, url } from "../base.ts";
import { type MessageKey, t } from "../i18n/messages.ts";
import { session } from "../session.ts";
import { stored } from "../settings.ts";
import { toast } from "../ui/toast.tsx";
import { failureText } from "../ui/failure.ts";
import { Engine, type Source } from "./engine.ts";
import { extensionOf, mayPlay, reactionTo } from "./formats.ts";
import { type Heard, UNHEARD, hear, isPlay } from "./played.ts";
import * as queues from "./queue.ts";
import { gainMode, quality, targetOf, volumeFor } from "./sound.ts";
import { QUEUE, isPlayerWanted } from "./slot.tsx";
import type { Track } from "./types.ts";

/** Seconds of a track after which "previous" returns to its beginning. */
const RESTART_S = 3;

/** Remaining seconds at which the next track is loaded. */
const PREPARE_S = 30;

/** Queue of this browser, kept across reloads. */
export const queue = stored<queues.Queue>(QUEUE, queues.EMPTY, queues.isQueue);
export const isPlaying = signal(false);
/** Position in the present track, in seconds. */
export const position = signal(0);
/** Loudness from 0 to 1, as the user sets it. */
export const volume = stored("music.volume", 1, (value): value is number => typeof value === "number" && value >= 0 && value <= 1);
export const isMuted = signal(false);
/** Reasons why tracks were skipped, by their ids. */
export const failures = signal<ReadonlyMap<string, string>>(new Map());
/** Ratings that were given since the page was opened, by the tracks' ids. */
const given = signal<ReadonlyMap<string, number>>(new Map());

export const present = computed(() => queues.present(queue.value));
/** Length of the present track, in seconds. */
export const length = signal(0);

const kept = stored(
  "music.position",
  { key: 0, seconds: 0 },
  (value): value is { key: number; seconds: number } =>
    typeof value === "object" && value !== null && "seconds" in value && typeof value.seconds === "number",
);

let heard: Heard = UNHEARD;
/** True once the present track has been given to the engine. */
let isLoaded = false;
/** Number of tracks in a row that failed. */
let failedInRow = 0;

const engine = new Engine({
  onTime: followTime,
  onAdvance: () => {
    const at = queues.following(queue.value, false);
    if (at >= 0) begin({ ...queue.value, at }, false);
  },
  onEnd: () => void step(queues.following(queue.value, false)),
  onPlaying: (is) => (isPlaying.value = is),
  onError: (code, src) => void explainFailure(code, src),
  onRefused: () => (isPlaying.value = false),
});

const probe = new Audio();
const canPlayType = (type: string) => probe.canPlayType(type);
const canPlayOpus = mayPlay(".opus", canPlayType);
const canPlayFile = (track: Track) => mayPlay(track.file, canPlayType);
/** Returns whether the browser can play the track, as it is or as Opus. */
const canPlay = (track: Track) => canPlayOpus || canPlayFile(track);

/** Returns what the engine loads for a track in the chosen quality. */
function sourceFor(track: Track): Source {
  return { src: url(targetOf(track, quality.value, canPlayFile(track), canPlayOpus)), gain: track.replayGain };
}

effect(() => {
  const [loudness, mode] = [isMuted.value ? 0 : volume.value, gainMode.value];
  engine.setVolume((gain) => volumeFor(loudness, gain, mode));
});
restore();
addEventListener("pagehide", keepPosition);

/** Shows the present track of the last visit at its last position, without loading the file. */
function restore(): void {
  const entry = present.value;
  if (!entry) return;
  position.value = kept.value.key === entry.key ? kept.value.seconds : 0;
  length.value = entry.track.durationMs / 1000;
}

function keepPosition(): void {
  const key = present.value?.key;
  if (key !== undefined) kept.value = { key, seconds: Math.floor(position.value) };
}

function followTime(seconds: number): void {
  const entry = present.value;
  if (!entry) return;
  failedInRow = 0;
  position.value = seconds;
  if (engine.duration > 0 && Number.isFinite(engine.duration)) length.value = engine.duration;
  if (Math.abs(seconds - kept.value.seconds) >= 5) keepPosition();
  if (length.value - seconds < PREPARE_S) prepareNext();
  if (!isPlaying.value) return;
  heard = hear(heard, seconds * 1000);
  if (!heard.isCounted && isPlay(heard, length.value * 1000)) countPlay(entry.track);
}

function prepareNext(): void {
  const next = queue.value.entries[queues.following(queue.value, false)];
  engine.prepare(next && canPlay(next.track) ? sourceFor(next.track) : null);
}

function countPlay(track: Track): void {
  heard = { ...heard, isCounted: true };
  if (session.value.name === null) return;
  // A play that cannot be recorded is lost, but the music goes on.
  api(`/tracks/${track.id}/plays`, { method: "POST", keepalive: true }).catch(() => undefined);
}

/** Replaces the queue by `next` and switches to its present entry. */
function begin(next: queues.Queue, isToLoad: boolean, isToPlay = true): void {
  batch(() => {
    queue.value = next;
    const entry = present.value;
    heard = UNHEARD;
    position.value = 0;
    length.value = (entry?.track.durationMs ?? 0) / 1000;
    isPlayerWanted.value = next.entries.length > 0 || isPlayerWanted.value;
    isLoaded = false;
    if (!entry) {
      engine.stop();
      isPlaying.value = false;
    } else if (!isToLoad) {
      isLoaded = true;
    } else if (!canPlay(entry.track)) {
      fail(entry.track, "music.skipped.format", isToPlay);
    } else if (isToPlay) {
      start(0);
    } else {
      engine.pause();
    }
  });
  keepPosition();
}

/** Plays the present track. `src` replaces the source in the chosen quality. */
function start(seconds: number, src?: string): void {
  const entry = present.value;
  if (!entry) return;
  isLoaded = true;
  isPlaying.value = true;
  const source = sourceFor(entry.track);
  engine.load({ ...source, src: src ?? source.src }, seconds, true);
}

/** Goes to an index of the queue; at the end of the queue the player stops. */
function step(at: number, isToPlay = true): void {
  if (at >= 0) {
    begin({ ...queue.value, at }, true, isToPlay);
    return;
  }
  engine.pause();
  isPlaying.value = false;
  isLoaded = false;
  position.value = 0;
}

/**
 * Asks the server why a source does not play, and plays the file of the track or skips the track.
 * Without a connection, waits until it is back; if the session has ended, waits for a login.
 */
async function explainFailure(code: number, src: string): Promise<void> {
  const entry = present.value;
  if (!entry) return;
  let status = 200;
  try {
    await request(src.slice(root.pathname.length - 1), { method: "HEAD" });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    ({ status } = error);
  }
  // Meanwhile the user may have chosen another track or another quality.
  if (present.value?.key !== entry.key || engine.source !== src) return;
  if (status === 0 || status === 401) {
    if (status === 0) toast(t("music.waiting"));
    waitForRecovery(entry.key);
    return;
  }
  const isDamaged = code === MediaError.MEDIA_ERR_DECODE;
  const reaction = reactionTo({ status, isDamaged, isTranscoded: src !== url(entry.track.file), isFilePlayable: canPlayFile(entry.track) });
  if (reaction === "file") start(position.value, url(entry.track.file));
  else fail(entry.track, `music.skipped.${reaction}`, true);
}

/**
 * Stops, and continues at the same position once requests may succeed, unless another entry is
 * present then.
 */
function waitForRecovery(key: number): void {
  isPlaying.value = false;
  isLoaded = false;
  const before = recoveries.value;
  const stop = recoveries.subscribe((now) => {
    if (now === before) return;
    stop();
    if (present.value?.key === key && !isPlaying.value) start(position.value);
  });
}

/** Skips a track and shows the reason. */
function fail(track: Track, reason: MessageKey, isToPlay: boolean): void {
  const text = t(reason, { title: track.title, format: extensionOf(track.file).toUpperCase() });
  failures.value = new Map(failures.value).set(track.id, text);
  toast(text);
  failedInRow += 1;
  const isHopeless = failedInRow >= queue.value.entries.length;
  step(isHopeless || !isToPlay ? -1 : queues.following(queue.value, true), isToPlay);
}

/** Plays tracks from the one at `start` on, instead of the present queue. */
export function play(tracks: readonly Track[], start = 0): void {
  failedInRow = 0;
  begin(queues.playNow(queue.value, tracks.map(slim), start), true);
}

export function playShuffled(tracks: readonly Track[]): void {
  failedInRow = 0;
  begin(queues.playShuffled(queue.value, tracks.map(slim)), true);
}

/** Adds tracks behind the present one, or at the end. */
export function enqueue(tracks: readonly Track[], isNext: boolean): void {
  const isFirst = !present.value;
  const add = isNext ? queues.addNext : queues.addLast;
  const next = add(queue.value, tracks.map(slim));
  if (isFirst) begin(next, true);
  else change(next);
  toast(t(isNext ? "music.addedNext" : "music.addedLast", { count: tracks.length }));
}

/** Returns the part of a track that the queue keeps. */
function slim({ id, title, artist, artistIds, albumId, album, durationMs, file, cover, rating, replayGain }: Track): Track {
  const some = { ...(cover && { cover }), ...(albumId && { albumId }), ...(album && { album }), ...(rating && { rating }), ...(replayGain && { replayGain }) };
  return { id, title, artist, artistIds, durationMs, file, ...some };
}

/**
 * Changes the queue. If the present entry changes, the new entry plays if the old one was playing.
 */
function change(next: queues.Queue): void {
  const key = present.value?.key;
  if (queues.present(next)?.key !== key) {
    begin(next, true, isPlaying.value);
    return;
  }
  queue.value = next;
  if (isLoaded && length.value - position.value < PREPARE_S) prepareNext();
}

export function toggle(): void {
  if (!present.value) return;
  if (isPlaying.value) {
    engine.pause();
  } else if (isLoaded) {
    engine.play();
  } else {
    failedInRow = 0;
    if (canPlay(present.value.track)) start(position.value);
    else fail(present.value.track, "music.skipped.format", true);
  }
}

/** Changes the quality. The present track goes on at its position in the new quality. */
export function setQuality(wanted: typeof quality.value): void {
  quality.value = wanted;
  if (isPlaying.value) start(position.value);
  else isLoaded = false;
}

export function next(): void {
  step(queues.following(queue.value, true), isPlaying.value);
}

/** Returns to the beginning of the track, or, at the beginning, to the track before it. */
export function previous(): void {
  if (position.value > RESTART_S || queue.value.at <= 0) seek(0);
  else step(queues.preceding(queue.value), isPlaying.value);
}

export function seek(seconds: number): void {
  const to = Math.min(Math.max(0, seconds), Math.max(0, length.value - 0.1));
  position.value = to;
  if (isLoaded) engine.seek(to);
  keepPosition();
}

export function jump(key: number): void {
  failedInRow = 0;
  if (key === present.value?.key) toggle();
  else begin(queues.jump(queue.value, key), true);
}

export function remove(key: number): void {
  change(queues.remove(queue.value, key));
}

export function move(key: number, to: number): void {
  change(queues.move(queue.value, key, to));
}

/** Empties the queue. The user can undo that while the message is shown. */
export function clear(): void {
  const before = queue.value;
  const seconds = position.value;
  begin(queues.clear(before), true);
  toast(t("music.cleared"), {
    label: t("music.undo"),
    run: () => {
      begin(before, true, false);
      position.value = seconds;
    },
  });
}

export function toggleShuffle(): void {
  change(queues.setShuffle(queue.value, queue.value.given === null));
}

export function cycleRepeat(): void {
  const order = { off: "all", all: "one", one: "off" } as const;
  change(queues.setRepeat(queue.value, order[queue.value.repeat]));
}

/** Returns the rating of a track, from 0 to 5. */
export function ratingOf(track: Track): number {
  return given.value.get(track.id) ?? Math.round(track.rating ?? 0);
}

/** Saves a rating, also in the kept queue. If the server refuses it, the old one is shown again. */
export async function rate(track: Track, rating: number): Promise<void> {
  const before = given.value;
  given.value = new Map(before).set(track.id, rating);
  try {
    await api(`/tracks/${track.id}/rating/${rating}`, { method: "PUT" });
    queue.value = queues.rate(queue.value, track.id, rating);
  } catch (error) {
    given.value = before;
    toast(failureText(error));
  }
}
