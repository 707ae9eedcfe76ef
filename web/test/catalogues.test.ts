import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { test } from "node:test";

import { LANGUAGES } from "../src/i18n/messages.ts";

/** Endings of the keys of plural forms (Unicode CLDR). */
const PLURAL = /\.(zero|one|two|few|many|other)$/;

const FOLDER = new URL("../src/i18n/", import.meta.url);

/** Returns the parts of the catalogue: `base`, and one for each area that loads its own. */
async function parts(): Promise<string[]> {
  const entries = await readdir(FOLDER, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

/** Returns all messages of a language. No part may have a key of another. */
async function catalogue(tag: string): Promise<Readonly<Record<string, string>>> {
  const all: Record<string, string> = {};
  for (const part of await parts()) {
    const module = (await import(`../src/i18n/${part}/${tag}.json`)) as { default: Record<string, string> };
    for (const [key, message] of Object.entries(module.default)) {
      assert.equal(all[key], undefined, `${tag}: ${key} is in two parts`);
      all[key] = message;
    }
  }
  return all;
}

/** Returns the keys without plural forms. */
function keys(messages: Readonly<Record<string, string>>): string[] {
  return [...new Set(Object.keys(messages).map((key) => (messages[key.replace(PLURAL, ".other")] === undefined ? key : key.replace(PLURAL, ""))))].sort();
}

/** Returns the names of the values that a message contains, such as `count`. */
function values(message: string): string[] {
  return [...message.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "").sort();
}

test("every language has a catalogue, and every catalogue is a language", async () => {
  for (const part of await parts()) {
    const files = await readdir(new URL(`${part}/`, FOLDER));
    const tags = files.map((name) => name.replace(".json", ""));
    assert.deepEqual(tags.sort(), Object.keys(LANGUAGES).sort(), part);
  }
});

for (const tag of Object.keys(LANGUAGES).filter((it) => it !== "en")) {
  test(`${tag} has the same keys as English`, async () => {
    assert.deepEqual(keys(await catalogue(tag)), keys(await catalogue("en")));
  });

  test(`${tag} has the same values in its messages as English`, async () => {
    const [english, other] = [await catalogue("en"), await catalogue(tag)];
    for (const [key, message] of Object.entries(other)) {
      assert.notEqual(message.trim(), "", key);
      // A language may leave the number out of a form that stands for one number alone.
      if (PLURAL.test(key) && !key.endsWith(".other")) continue;
      assert.deepEqual(values(message), values(english[key] ?? ""), key);
    }
  });
}

test("plural forms have a form for all other numbers", async () => {
  for (const tag of Object.keys(LANGUAGES)) {
    const messages = await catalogue(tag);
    const { pluralCategories } = new Intl.PluralRules(tag).resolvedOptions();
    for (const key of Object.keys(messages)) {
      const form = PLURAL.exec(key)?.[1];
      const base = key.replace(PLURAL, "");
      if (form === undefined || messages[`${base}.other`] === undefined) continue;
      assert.ok(pluralCategories.some((category) => category === form), `${tag}: ${key} is never used`);
    }
  }
});
