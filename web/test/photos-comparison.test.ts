import assert from "node:assert/strict";
import { test } from "node:test";

import { loadMessages } from "../src/i18n/messages.ts";
import { encoderOf, meaningOf, savingOf } from "../src/photos/comparison.ts";

await loadMessages("photos");

const ORIGINAL = { format: "jpg", width: 4000, height: 3000, bytes: 2_000_000 };

test("a score has a meaning on the scale of SSIMULACRA2", () => {
  const meanings = [100, 90, 89.9, 70, 50, 49, -20].map((score) => meaningOf(score).replace("compare.score.", ""));
  assert.deepEqual(meanings, ["90", "90", "70", "70", "50", "0", "0"]);
});

test("the encoder and its settings are one line", () => {
  const sent = { ...ORIGINAL, format: "avif", encoder: "libaom", speed: 6 };
  assert.equal(encoderOf({ ...sent, quality: 62 }), "libaom · quality 62 · speed 6");
  assert.equal(encoderOf(sent), "libaom · lossless · speed 6");
  assert.equal(encoderOf(ORIGINAL), "");
});

test("the saving is relative to the original", () => {
  const sent = { ...ORIGINAL, bytes: 500_000 };
  assert.equal(savingOf({ original: ORIGINAL, sent, isOriginal: false }), "75% smaller");
});
