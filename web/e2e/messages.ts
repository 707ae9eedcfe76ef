// Texts of the page in the language of a visit.

import ar from "../src/i18n/ar.json";
import de from "../src/i18n/de.json";
import en from "../src/i18n/en.json";
import type { MessageKey } from "../src/i18n/messages.ts";
import type { Variant } from "./visit.ts";

const CATALOGUES: Readonly<Record<string, Readonly<Record<string, string>>>> = { ar, de, en };

/** Returns the text of a message as the page shows it in a variant. */
export function text(variant: Variant, key: MessageKey): string {
  const found = CATALOGUES[variant.locale]?.[key];
  if (found === undefined) throw new Error(`${variant.locale}.json has no ${key}`);
  return found;
}
