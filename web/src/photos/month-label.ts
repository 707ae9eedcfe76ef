import { t } from "../i18n/messages.ts";
import { monthName } from "./names.ts";
import type { Month } from "./sections.ts";

/** Returns the name of a month and the number of its pictures, such as `July 2024 · 12 photos`. */
export function monthLabel([month, count]: Month): string {
  return `${monthName(month)} · ${t("photos.count", { count })}`;
}
