import { thumbHashToRGBA } from "thumbhash";

import { decoded } from "../base.ts";
import { date, language, t } from "../i18n/messages.ts";
import type { Picture } from "./source.ts";

/** Returns the name of a month, such as `July 2024`. */
export function monthName(month: string): string {
  return /^\d{4}-\d{2}$/.test(month) ? date(`${month}-01`, { month: "long", year: "numeric" }) : t("photos.noDate");
}

/**
 * Returns a small canvas with the placeholder that a ThumbHash in base64 describes, if it is valid.
 */
export function placeholder(thumbhash: string): HTMLCanvasElement | null {
  try {
    const hash = Uint8Array.from(atob(thumbhash), (it) => it.charCodeAt(0));
    const { w, h, rgba } = thumbHashToRGBA(hash);
    const canvas = document.createElement("canvas");
    canvas.width = w;
    canvas.height = h;
    canvas.getContext("2d")?.putImageData(new ImageData(new Uint8ClampedArray(rgba), w, h), 0, 0);
    return canvas;
  } catch {
    return null;
  }
}

/** Returns the name of a picture's file. */
export function nameOf({ file }: { readonly file: string }): string {
  return decoded(file.slice(file.lastIndexOf("/") + 1));
}

let formatter: Intl.DateTimeFormat | null = null;
let formatterLanguage = "";

/** Returns the name of a picture for screen readers: that of its file, and its date. */
export function labelOf(picture: Picture): string {
  if (!formatter || formatterLanguage !== language.value) {
    formatterLanguage = language.value;
    formatter = new Intl.DateTimeFormat(formatterLanguage, { dateStyle: "long", timeZone: "UTC" });
  }
  const time = Date.parse(picture.date);
  return Number.isNaN(time) ? nameOf(picture) : `${nameOf(picture)}, ${formatter.format(time)}`;
}
