import type { ComponentChildren } from "preact";

import { bytes, date, number, t } from "../i18n/messages.ts";
import type { Latency, Present } from "./document.ts";
import { micros, percent, range, short } from "./format.ts";
import { type Cell, type Ring, column, ratioOf, sumOf, total } from "./history.ts";
import { boundsOf, quantileBucket } from "./quantile.ts";
import { Spark } from "./spark.tsx";
import { recentLatency, ring } from "./state.ts";

/** Series of the history that count responses, one per source of a response. */
export const SOURCES = ["hits", "misses", "originals", "mounts", "others"] as const;
/** Seconds over which a rate is averaged. */
const RATE_SECONDS = 10;

/** Tiles of the overview, each with a number and a small chart of its history. */
export function Tiles({ now }: { now: Present }) {
  const rows = ring.value;
  const responses = perSecond(rows, sumOf(rows, SOURCES));
  const traffic = perSecond(rows, column(rows, "bodyKib")).map(kib);
  const looked = sumOf(rows, ["hits", "misses"]);
  const hits = column(rows, "hits");
  const ratio = total(looked) ? percent(total(hits) / total(looked)) : null;
  const saved = column(rows, "savedKib").map(kib);
  const { conversions } = now;
  const perS = (value: number) => t("ops.perSecond", { value: short(value) });
  const since = date(new Date(now.saved.sinceMs).toISOString(), { dateStyle: "medium" });
  return (
    <div class="ops-tiles">
      <Tile title={t("ops.requests")} value={perS(latest(rows, responses))} note={t("ops.traffic", { value: bytes(latest(rows, traffic)) })}>
        <Spark label={t("ops.requests")} values={responses} format={perS} />
      </Tile>
      <Tile title={t("ops.hitRatio")} value={ratio} note={t("ops.hitRatio.note", { hits: short(total(hits)), total: short(total(looked)) })}>
        <Spark label={t("ops.hitRatio")} values={ratioOf(hits, looked)} max={1} format={percent} />
      </Tile>
      <Tile
        title={t("ops.saved")}
        value={bytes(now.saved.todayBytes)}
        note={t(now.saved.isKept ? "ops.saved.ever" : "ops.saved.process", { value: bytes(now.saved.everBytes), date: since })}
      >
        <Spark label={t("ops.saved")} values={saved} format={bytes} />
      </Tile>
      <LatencyTile title={t("ops.hits")} series="hit" counts="hits" />
      <LatencyTile title={t("ops.misses")} series="miss" counts="misses" />
      <Tile
        title={t("ops.conversions")}
        value={t("ops.conversions.running", { value: number(conversions.running) })}
        note={t("ops.conversions.waiting", { waiting: conversions.waiting, improving: conversions.improvementsWaiting })}
      >
        <Spark label={t("ops.conversions")} values={column(rows, "conversions")} format={short} />
      </Tile>
    </div>
  );
}

function Tile({ title, value, note, children }: { title: string; value: string | null; note: string; children: ComponentChildren }) {
  return (
    <section class="card ops-tile">
      <h2>{title}</h2>
      <p class="ops-value number">{value ?? <span class="dim">{t("ops.noData")}</span>}</p>
      <p class="dim ops-sub">{note}</p>
      {children}
    </section>
  );
}

/** Tile of the median and the 99th percentile of the last minute, with a chart of their history. */
function LatencyTile({ title, series, counts }: { title: string; series: "hit" | "miss"; counts: "hits" | "misses" }) {
  const latency = recentLatency.value;
  const bounds = latency?.boundsUs ?? [];
  const upper = (bucket: Cell) => (bucket === null ? null : (bounds[bucket] ?? (bounds.at(-1) ?? 0) * 2));
  const low = column(ring.value, `${series}P50`).map(upper);
  const high = column(ring.value, `${series}P99`).map(upper);
  return (
    <Tile
      title={title}
      value={latency && quantile(latency, counts, 0.99)}
      note={t("ops.median", { value: (latency && quantile(latency, counts, 0.5)) ?? "–" })}
    >
      <Spark label={title} values={high.map(scaled)} low={low.map(scaled)} format={(value) => micros(10 ** value)} />
    </Tile>
  );
}

/** Returns the logarithm of a duration for a chart, because durations differ by powers of ten. */
function scaled(us: Cell): Cell {
  return us === null ? null : Math.log10(Math.max(1, us));
}

function quantile(latency: Latency, counts: "hits" | "misses", q: number): string | null {
  const bucket = quantileBucket(latency[counts], q);
  return bucket === null ? null : range(boundsOf(latency.boundsUs, bucket));
}

function perSecond(rows: Ring, values: readonly Cell[]): readonly Cell[] {
  return values.map((value) => (value === null ? null : value / rows.seconds));
}

/** Returns the mean of the newest rows of a rate. */
function latest(rows: Ring, rates: readonly Cell[]): number {
  const count = Math.max(1, Math.ceil(RATE_SECONDS / rows.seconds));
  const newest = rates.slice(-count);
  return newest.length ? total(newest) / newest.length : 0;
}

function kib(value: Cell): Cell {
  return value === null ? null : value * 1024;
}
