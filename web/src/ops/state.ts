import { computed, signal } from "@preact/signals";

import { api } from "../api.ts";
import { oneOf, stored } from "../settings.ts";
import type { Latency, OpsDocument } from "./document.ts";
import { type Ring, emptyRing, merge } from "./history.ts";
import { pause, staleSeconds } from "./poll.ts";
import { between } from "./quantile.ts";

/** Time that `recentLatency` covers, in milliseconds. */
const RECENT_MS = 60_000;

/** Newest document, or `null` before the first. */
export const shown = signal<OpsDocument | null>(null);

/** Error of the latest request, or `null`. */
export const failure = signal<unknown>(null);

/** Age of the newest document in seconds, once it is stale. */
export const stale = signal<number | null>(null);

/** Durations of the responses of the last minute. */
export const recentLatency = signal<Latency | null>(null);

/** Ranges of time that can be shown, by the seconds of their rows. */
export const RANGES = { "5m": 1, "1h": 10, "24h": 60 } as const;
export type Range = keyof typeof RANGES;

/** Range of time that all charts show. */
export const shownRange = stored<Range>("ops.range", "5m", oneOf(["5m", "1h", "24h"]));

const rings = signal<ReadonlyMap<number, Ring>>(new Map());

/** Rows of the history in the chosen range. */
export const ring = computed<Ring>(() => {
  const seconds = RANGES[shownRange.value];
  return rings.value.get(seconds) ?? emptyRing(seconds);
});

/** Totals of durations at earlier requests, the oldest first. */
let earlier: { atMs: number; latency: Latency }[] = [];
let receivedMs = 0;
let failures = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let request: AbortController | undefined;

/** Starts to poll the state of the server. Returns a function that stops the polling. */
export function follow(): () => void {
  const onVisible = () => {
    if (!document.hidden) refresh();
  };
  const clock = setInterval(() => (stale.value = shown.value && staleSeconds(receivedMs, Date.now())), 1000);
  document.addEventListener("visibilitychange", onVisible);
  refresh();
  return () => {
    document.removeEventListener("visibilitychange", onVisible);
    clearInterval(clock);
    clearTimeout(timer);
    request?.abort();
    request = undefined;
  };
}

/** Asks the server now, and again after a pause. */
export function refresh(): void {
  clearTimeout(timer);
  request?.abort();
  const own = new AbortController();
  request = own;
  void ask(own.signal).then((isAborted) => {
    if (!isAborted && request === own) timer = setTimeout(refresh, pause(failures, document.hidden));
  });
}

/** Asks for the rows since the newest document. Returns whether the request was aborted. */
async function ask(aborted: AbortSignal): Promise<boolean> {
  try {
    const known = shown.value;
    let update = await api<OpsDocument>(`/ops?since=${known?.seq ?? 0}`, { signal: aborted });
    if (known && update.startedMs !== known.startedMs) {
      // The server has restarted, and counts from 0 again.
      rings.value = new Map();
      earlier = [];
      update = await api<OpsDocument>("/ops", { signal: aborted });
    }
    apply(update);
    failures = 0;
    failure.value = null;
  } catch (error) {
    if (aborted.aborted) return true;
    failures += 1;
    failure.value = error;
  }
  return false;
}

function apply(update: OpsDocument): void {
  const merged = new Map(rings.value);
  for (const rows of update.history) {
    merged.set(rows.seconds, merge(merged.get(rows.seconds) ?? emptyRing(rows.seconds), rows));
  }
  rings.value = merged;
  receivedMs = Date.now();
  stale.value = null;
  const { latency } = update.now;
  earlier = earlier.filter((it) => receivedMs - it.atMs <= RECENT_MS);
  const first = earlier[0]?.latency;
  earlier.push({ atMs: receivedMs, latency });
  recentLatency.value = { boundsUs: latency.boundsUs, hits: between(first?.hits, latency.hits), misses: between(first?.misses, latency.misses) };
  shown.value = update;
}
