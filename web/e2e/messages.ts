// Texts of the page in the language of a visit.

import ar from "../src/i18n/base/ar.json";
import de from "../src/i18n/base/de.json";
import en from "../src/i18n/base/en.json";
import arMusic from "../src/i18n/music/ar.json";
import deMusic from "../src/i18n/music/de.json";
import enMusic from "../src/i18n/music/en.json";
import arOps from "../src/i18n/ops/ar.json";
import deOps from "../src/i18n/ops/de.json";
import enOps from "../src/i18n/ops/en.json";
import arPhotos from "../src/i18n/photos/ar.json";
import dePhotos from "../src/i18n/photos/de.json";
import enPhotos from "../src/i18n/photos/en.json";
import arPlayground from "../src/i18n/playground/ar.json";
import dePlayground from "../src/i18n/playground/de.json";
import enPlayground from "../src/i18n/playground/en.json";
import arShare from "../src/i18n/share/ar.json";
import deShare from "../src/i18n/share/de.json";
import enShare from "../src/i18n/share/en.json";
import type { MessageKey } from "../src/i18n/messages.ts";
import type { Variant } from "./visit.ts";

const CATALOGUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ar: { ...ar, ...arMusic, ...arOps, ...arPhotos, ...arPlayground, ...arShare },
  de: { ...de, ...deMusic, ...deOps, ...dePhotos, ...dePlayground, ...deShare },
  en: { ...en, ...enMusic, ...enOps, ...enPhotos, ...enPlayground, ...enShare },
};

/** Returns the text of a message as the page shows it in a variant, with its placeholders replaced by `values`. */
export function text(variant: Variant, key: MessageKey, values: Readonly<Record<string, string>> = {}): string {
  const found = CATALOGUES[variant.locale]?.[key];
  if (found === undefined) throw new Error(`${variant.locale}.json has no ${key}`);
  return found.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
