import "../shared.ts";

import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

import { type MessageKey, bytes, t } from "../i18n/messages.ts";
import { scheme } from "../settings.ts";
import { micros, percent, short } from "./format.ts";
import { type Cell, type Ring, column, ratioOf, sumOf } from "./history.ts";
import { lone } from "./line.ts";
import { Panel } from "./panel.tsx";
import { recentLatency, ring, shown } from "./state.ts";

const HEIGHT = 200;
/** Key of the cursor and the zoom that all charts share. */
const SYNC = "ops";

/** Line of a chart: its name, its colour as a token of app.css, and its values. */
interface Line {
  readonly label: MessageKey;
  readonly colour: string;
  readonly values: (rows: Ring) => readonly Cell[];
}

interface Chart {
  readonly title: MessageKey;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  readonly isLogarithmic?: boolean;
}

const rate =
  (name: string, factor = 1) =>
  (rows: Ring) =>
    scale(column(rows, name), factor / rows.seconds);
const level =
  (name: string, factor = 1) =>
  (rows: Ring) =>
    scale(column(rows, name), factor);
const upper = (name: string) => (rows: Ring) => {
  const bounds = recentLatency.peek()?.boundsUs ?? [];
  return column(rows, name).map((bucket) => (bucket === null ? null : (bounds[bucket] ?? (bounds.at(-1) ?? 1) * 2)));
};

const CHARTS: readonly Chart[] = [
  {
    title: "ops.requests",
    format: (value) => t("ops.perSecond", { value: short(value) }),
    lines: [
      { label: "ops.source.hits", colour: "--accent", values: rate("hits") },
      { label: "ops.source.misses", colour: "--warn", values: rate("misses") },
      { label: "ops.source.originals", colour: "--good", values: rate("originals") },
      { label: "ops.source.others", colour: "--text-dim", values: (rows) => scale(sumOf(rows, ["mounts", "others"]), 1 / rows.seconds) },
    ],
  },
  {
    title: "ops.latency",
    format: micros,
    isLogarithmic: true,
    lines: [
      { label: "ops.hits.p50", colour: "--accent", values: upper("hitP50") },
      { label: "ops.hits.p99", colour: "--good", values: upper("hitP99") },
      { label: "ops.misses.p50", colour: "--warn", values: upper("missP50") },
      { label: "ops.misses.p99", colour: "--danger", values: upper("missP99") },
    ],
  },
  {
    title: "ops.hitRatio",
    format: percent,
    lines: [{ label: "ops.hitRatio", colour: "--accent", values: (rows) => ratioOf(column(rows, "hits"), sumOf(rows, ["hits", "misses"])) }],
  },
  {
    title: "ops.bytes",
    format: (value) => t("ops.perSecond", { value: bytes(value) }),
    lines: [
      { label: "ops.sent", colour: "--accent", values: rate("bodyKib", 1024) },
      { label: "ops.savedBytes", colour: "--good", values: rate("savedKib", 1024) },
    ],
  },
  {
    title: "ops.conversions",
    format: short,
    lines: [
      { label: "ops.running", colour: "--accent", values: level("converting") },
      { label: "ops.waiting", colour: "--warn", values: level("waiting") },
      { label: "ops.failures", colour: "--danger", values: level("conversionFailures") },
    ],
  },
  {
    title: "ops.memory",
    format: bytes,
    lines: [{ label: "ops.memory", colour: "--accent", values: level("residentKib", 1024) }],
  },
];

/** Charts of the history with a common cursor and zoom. */
export default function Charts() {
  return (
    <>
      <p class="dim ops-hint">{t("ops.zoom")}</p>
      <div class="ops-charts">
        {CHARTS.map((chart) => (
          <ChartPanel chart={chart} />
        ))}
      </div>
    </>
  );
}

function ChartPanel({ chart }: { chart: Chart }) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    sizes.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(chart, element), dataOf(chart), element);
    };
    draw();
    const unsubscribe = scheme.subscribe(() => setTimeout(draw));
    dark.addEventListener("change", draw);
    return () => {
      dark.removeEventListener("change", draw);
      unsubscribe();
      sizes.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, []);
  useSignalEffect(() => {
    const data = dataOf(chart);
    const present = plot.current;
    if (!present) return;
    // New rows do not move a view that is zoomed.
    const isZoomed = isPart(present.scales["x"], present.data[0]);
    present.setData(data, !isZoomed || data[0].length === 0);
    if (isZoomed) present.redraw();
  });
  return (
    <Panel title={chart.title}>
      <ul class="ops-legend">
        {chart.lines.map((line) => (
          <li>
            <i class={`ops-key ops-key${line.colour}`} />
            {t(line.label)}
            <b class="number">{newest(line.values(ring.value), chart.format)}</b>
          </li>
        ))}
      </ul>
      <div class="ops-plot" ref={frame} dir="ltr" role="img" aria-label={t(chart.title)} />
    </Panel>
  );
}

/** Returns whether the chart is zoomed. With fewer than two rows it never is: uPlot then pads the scale. */
function isPart(scale: uPlot.Scale | undefined, times: uPlot.AlignedData[0]): boolean {
  if (scale?.min == null || times.length < 2) return false;
  return scale.min !== times[0] || scale.max !== times.at(-1);
}

/** Returns the newest value of the last ten rows with its unit, or a dash if there is none. */
function newest(values: readonly Cell[], format: (value: number) => string): string {
  const value = values.slice(-10).findLast((it) => it !== null);
  return value == null ? "–" : format(value);
}

/** Returns times in seconds and the values of all lines. */
function dataOf(chart: Chart): uPlot.AlignedData {
  const rows = ring.value;
  const newest = shown.value;
  const endS = newest ? newest.timeMs / 1000 - (newest.seq - rows.end) : 0;
  const times = Array.from({ length: rows.length }, (_, row) => Math.round(endS) - (rows.length - 1 - row) * rows.seconds);
  return [times, ...chart.lines.map((line) => [...line.values(rows)])];
}

/** Returns the labels of an axis, with "" for each label that equals the previous label. */
function withoutRepeats(labels: readonly string[]): string[] {
  return labels.map((label, index) => (label === labels[index - 1] ? "" : label));
}

function options(chart: Chart, element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (token: string) => style.getPropertyValue(token).trim();
  const axis = {
    stroke: colour("--text-dim"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui, sans-serif",
  };
  // Of the lines of a logarithmic axis, only the powers of ten are drawn.
  const powers = (_: uPlot, splits: readonly (number | null)[]) =>
    splits.map((value) => (value !== null && Number.isInteger(Math.log10(value)) ? value : null));
  const grid = chart.isLogarithmic ? { ...axis.grid, filter: powers } : axis.grid;
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { sync: { key: SYNC }, drag: { x: true, y: false } },
    scales: { y: chart.isLogarithmic ? { distr: 3 } : { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] } },
    axes: [
      { ...axis, space: 70, size: 30, values: (_, splits) => withoutRepeats(splits.map(clock)) },
      { ...axis, grid, size: 78, values: (_, splits) => splits.map((value) => (value === null ? "" : chart.format(value))) },
    ],
    series: [
      {},
      ...chart.lines.map((line) => ({
        label: t(line.label),
        stroke: colour(line.colour),
        width: 1.5,
        // A value between two gaps has no line segment, so it is drawn as a dot.
        points: {
          show: true,
          size: 5,
          width: 0,
          fill: colour(line.colour),
          filter: (plot: uPlot, index: number) => [...lone((plot.data[index] ?? []) as Cell[])],
        },
      })),
    ],
  };
}

function clock(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit" });
}

function scale(values: readonly Cell[], factor: number): readonly Cell[] {
  return values.map((value) => (value === null ? null : value * factor));
}
