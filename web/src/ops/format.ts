import { number } from "../i18n/messages.ts";
import type { Bounds } from "./quantile.ts";

/** Returns a number with at most three significant digits below 1,000, such as `3.42` or `1.2K`. */
export function short(value: number): string {
  if (value >= 10_000) return number(value, { notation: "compact", maximumFractionDigits: 1 });
  return number(value, { maximumFractionDigits: value < 10 ? 1 : 0 });
}

/** Returns a ratio in percent. Only a ratio of exactly 1 is shown as 100 %. */
export function percent(ratio: number): string {
  const floored = ratio < 1 ? Math.min(ratio, 0.999) : 1;
  return number(floored, { style: "percent", maximumFractionDigits: floored > 0.99 && floored < 1 ? 1 : 0 });
}

/** Returns a duration with a fitting unit, such as `75 µs` or `2.5 ms`. */
export function micros(us: number): string {
  const [value, unit] = us < 1000 ? [us, "microsecond"] : us < 1_000_000 ? [us / 1000, "millisecond"] : [us / 1_000_000, "second"];
  return number(value, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 2 });
}

/**
 * Returns the range of a bucket, such as `50–75 µs`; the bucket without an upper bound is `> 10 s`.
 */
export function range({ low, high }: Bounds): string {
  if (high === null) return `> ${micros(low)}`;
  if (low === 0) return `≤ ${micros(high)}`;
  const isSameUnit = scaleOf(low) === scaleOf(high);
  const lower = isSameUnit ? number(low / scaleOf(low), { maximumFractionDigits: 2 }) : micros(low);
  return `${lower}–${micros(high)}`;
}

function scaleOf(us: number): number {
  return us < 1000 ? 1 : us < 1_000_000 ? 1000 : 1_000_000;
}

/** Returns a long duration in its two largest units, such as `3 d 4 h`. */
export function span(seconds: number): string {
  const units = [
    ["day", 86_400],
    ["hour", 3600],
    ["minute", 60],
    ["second", 1],
  ] as const;
  let left = Math.max(0, Math.floor(seconds));
  const first = units.findIndex(([, size]) => left >= size);
  const shown = units.slice(first < 0 ? -1 : first).slice(0, 2);
  const parts: string[] = [];
  for (const [unit, size] of shown) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0 || parts.length === 0) parts.push(number(count, { style: "unit", unit, unitDisplay: "narrow" }));
  }
  return parts.join(" ");
}
