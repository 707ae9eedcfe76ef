import { signal } from "@preact/signals";

import type base from "./base/en.json";
import type music from "./music/en.json";
import type ops from "./ops/en.json";
import type photos from "./photos/en.json";
import type playground from "./playground/en.json";
import type share from "./share/en.json";

type Key = keyof typeof base | keyof typeof music | keyof typeof ops | keyof typeof photos | keyof typeof playground | keyof typeof share;

/**
 * Key of a message in the catalogue. A key that ends with `.one` or `.other` is one of the plural
 * forms of the key before the dot.
 */
export type MessageKey = Key | PluralKey;
type PluralKey = Key extends infer K ? (K extends `${infer Base}.other` ? Base : never) : never;

/**
 * Part of the catalogue that is loaded with an area or a part of it. All other messages are loaded
 * with the page.
 */
export type Part = "music" | "ops" | "photos" | "playground" | "share";

type Catalogue = Readonly<Record<string, string>>;

/** Languages that have a catalogue, each with its name in the language itself. */
export const LANGUAGES: Readonly<Record<string, string>> = { en: "English", de: "Deutsch", ar: "العربية" };

/** Languages that are written from right to left. */
const RIGHT_TO_LEFT = new Set(["ar", "fa", "he", "ur"]);

type Loader = () => Promise<{ default: Catalogue }>;

const bases: Record<string, Loader> = {
  en: () => import("./base/en.json"),
  de: () => import("./base/de.json"),
  ar: () => import("./base/ar.json"),
};

const parts: Record<Part, Record<string, Loader>> = {
  music: { en: () => import("./music/en.json"), de: () => import("./music/de.json"), ar: () => import("./music/ar.json") },
  photos: { en: () => import("./photos/en.json"), de: () => import("./photos/de.json"), ar: () => import("./photos/ar.json") },
  ops: { en: () => import("./ops/en.json"), de: () => import("./ops/de.json"), ar: () => import("./ops/ar.json") },
  playground: {
    en: () => import("./playground/en.json"),
    de: () => import("./playground/de.json"),
    ar: () => import("./playground/ar.json"),
  },
  share: { en: () => import("./share/en.json"), de: () => import("./share/de.json"), ar: () => import("./share/ar.json") },
};

/** Parts of the catalogue that areas have requested. */
const wantedParts = new Set<Part>();

/** Tag of the language of the page. Its messages are loaded by `setLanguage`. */
export const language = signal("en");
const catalogue = signal<Catalogue>({});

/** Returns the first of the `wanted` languages that has a catalogue, or English. */
export function choose(wanted: readonly string[]): string {
  const known = wanted.map((tag) => tag.toLowerCase().split("-")[0] ?? "");
  return known.find((tag) => tag in LANGUAGES) ?? "en";
}

/** Returns the messages of a language, including those of the parts in `wantedParts`. */
async function messagesIn(tag: string): Promise<Catalogue> {
  const loaders = [bases[tag], ...[...wantedParts].map((part) => parts[part][tag])];
  const loaded = await Promise.all(loaders.map((load) => load?.()));
  return Object.assign({}, ...loaded.map((module) => module?.default));
}

/** Language that is wanted, and the newest load of its messages, while it lasts. */
let wanted = "en";
let newest: Promise<void> | undefined;

/** Loads the messages of all wanted parts in the wanted language. Of several loads, only the newest changes the page. */
function load(): Promise<void> {
  const tag = wanted;
  const own: Promise<void> = messagesIn(tag).then((messages) => {
    if (newest !== own) return newest;
    catalogue.value = messages;
    language.value = tag;
    return undefined;
  });
  newest = own;
  return own.finally(() => {
    if (newest === own) newest = undefined;
  });
}

/** Loads a part of the catalogue, in the language of the page. */
export async function loadMessages(part: Part): Promise<void> {
  if (wantedParts.has(part)) return newest;
  wantedParts.add(part);
  try {
    await load();
  } catch (error) {
    wantedParts.delete(part);
    throw error;
  }
}

/** Loads the catalogue of a language and shows the page in it. */
export async function setLanguage(tag: string): Promise<void> {
  wanted = tag;
  await load();
  document.documentElement.lang = language.value;
  document.documentElement.dir = RIGHT_TO_LEFT.has(language.value) ? "rtl" : "ltr";
}

/**
 * Returns a message with its placeholders, such as `{name}`, replaced. If `values` has a `count`,
 * the plural form of the language is used.
 */
export function t(key: MessageKey, values: Readonly<Record<string, string | number>> = {}): string {
  const forms = catalogue.value;
  const count = values["count"];
  let found = forms[key];
  if (typeof count === "number") {
    const form = new Intl.PluralRules(language.value).select(count);
    found = forms[`${key}.${form}`] ?? forms[`${key}.other`] ?? found;
  }
  return (found ?? key).replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    return typeof value === "number" ? number(value) : (value ?? whole);
  });
}

/** Returns a number in the notation of the language. */
export function number(value: number, options?: Intl.NumberFormatOptions): string {
  return new Intl.NumberFormat(language.value, options).format(value);
}

/** Returns a number of bytes with a unit of 1000, such as `4.1 MB`. */
export function bytes(value: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
  let step = 0;
  while (value >= 999.5 && step < units.length - 1) {
    value /= 1000;
    step += 1;
  }
  const digits = value < 10 && step > 0 ? 1 : 0;
  return number(value, { style: "unit", unit: units[step] ?? "byte", unitDisplay: "short", maximumFractionDigits: digits });
}

/** Returns the time `ms` as minutes and seconds, or hours, minutes and seconds. */
export function duration(ms: number): string {
  const total = Math.max(0, Math.round(ms / 1000));
  const pad = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes, seconds] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(seconds)}` : `${minutes}:${pad(seconds)}`;
}

/**
 * Returns a date without its time. Times of pictures have no zone, so they are formatted as UTC.
 */
export function date(iso: string, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat(language.value, { timeZone: "UTC", ...options }).format(new Date(`${iso.slice(0, 10)}T00:00:00Z`));
}
