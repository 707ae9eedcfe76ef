import { api } from "../api.ts";
import { bytes, date, language, number, t } from "../i18n/messages.ts";
import { withLogin } from "../session.ts";

/** All properties of a picture, as `GET /-/api/pictures/ID` returns them. */
export interface Details {
  readonly id: string;
  readonly file: string;
  readonly name: string;
  readonly folder: string;
  /** Local time of the camera, such as `2024-08-28T09:55:39`. */
  readonly taken: string;
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
  readonly camera?: string;
  readonly lens?: string;
  readonly fNumber?: number;
  readonly exposureSeconds?: number;
  readonly iso?: number;
  readonly focalMm?: number;
  readonly latitude?: number;
  readonly longitude?: number;
  readonly altitude?: number;
  /** Names of places, each from the smallest to the largest area. Lists of pictures lack them. */
  readonly places?: readonly Readonly<Record<string, string>>[];
  readonly favourite?: boolean;
  readonly previous?: string | null;
  readonly next?: string | null;
  /** Target of the video of a motion photo; `null` if the file cannot be read. */
  readonly motion?: string | null;
  /** Reason why the picture cannot be decoded. */
  readonly error?: string;
  readonly placeholder?: { readonly colour?: string; readonly thumbhash?: string };
}

/** Details of the pictures that were requested last. */
const kept = new Map<string, Promise<Details>>();
const KEPT_MAX = 40;

/**
 * Requests the details of a picture, unless they were requested before.
 *
 * @param search query of the target; selects the pictures that count as neighbours
 */
export function detailsOf(id: string, search: string): Promise<Details> {
  const target = `/pictures/${encodeURIComponent(id)}${search}`;
  const found = kept.get(target);
  if (found) return found;
  const asked = withLogin(() => api<Details>(target));
  kept.set(target, asked);
  asked.catch(() => kept.delete(target));
  const [oldest] = kept.keys();
  if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest);
  return asked;
}

/** Returns an exposure time as photographers write it: `1/250 s`, or `2.5 s`. */
export function exposure(seconds: number): string {
  const text = seconds > 0 && seconds < 0.4 ? `1/${Math.round(1 / seconds)}` : number(seconds, { maximumFractionDigits: 1 });
  return `${text} s`;
}

/** Returns the settings of the camera in one line. */
export function settings({ fNumber, exposureSeconds, iso, focalMm }: Details): string {
  const parts: string[] = [];
  if (focalMm) parts.push(`${number(focalMm, { maximumFractionDigits: 1 })} mm`);
  if (fNumber) parts.push(`f/${number(fNumber, { maximumFractionDigits: 1 })}`);
  if (exposureSeconds) parts.push(exposure(exposureSeconds));
  if (iso) parts.push(`ISO ${iso}`);
  return parts.join(" · ");
}

/** Returns day and time of the picture, in the language of the page. */
export function takenAt(taken: string): string {
  const day = date(taken, { dateStyle: "full" });
  const time = new Date(`${taken.slice(0, 19)}Z`);
  if (taken.length < 16 || Number.isNaN(time.getTime())) return day;
  return `${day}, ${new Intl.DateTimeFormat(language.value, { timeStyle: "short", timeZone: "UTC" }).format(time)}`;
}

/** Returns size in pixels and bytes. */
export function sizeOf({ width, height, bytes: size }: Details): string {
  if (!width || !height) return bytes(size);
  const mega = number((width * height) / 1e6, { maximumFractionDigits: 1 });
  const pixels = t("viewer.pixels", { width: String(width), height: String(height), mega });
  return `${pixels} · ${bytes(size)}`;
}

/** Returns the names of a place in one line. */
export function namesOf(place: Readonly<Record<string, string>>): string {
  return Object.values(place).join(", ");
}

/** Returns coordinates in degrees. */
export function placeOf(latitude: number, longitude: number): string {
  const one = (value: number, positive: string, negative: string) =>
    `${number(Math.abs(value), { maximumFractionDigits: 5 })}° ${value < 0 ? negative : positive}`;
  return `${one(latitude, "N", "S")}, ${one(longitude, "E", "W")}`;
}

/** Format and size of the variant that the server sent instead of the original. */
export interface Served {
  readonly format: string;
  readonly bytes: number;
}

/** Returns the format and size of the response from an address, if the browser reports them. */
export function servedFrom(address: string, format: string): Served | null {
  const entries = performance.getEntriesByName(address);
  const entry = entries.filter((it) => it instanceof PerformanceResourceTiming).at(-1) as PerformanceResourceTiming | undefined;
  const size = entry?.encodedBodySize || entry?.decodedBodySize;
  if (!size) return null;
  const type = (entry as { contentType?: string }).contentType ?? "";
  return { format: formatName(type) || format, bytes: size };
}

/** Returns the name of a media type: `AVIF` for `image/avif`. */
export function formatName(type: string): string {
  const name = /^image\/([\w-]+)/.exec(type)?.[1]?.replace(/^x-/, "") ?? "";
  if (name === "jpg") return "JPEG";
  return name === "webp" ? "WebP" : name.toUpperCase();
}
