import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { contrast, tintOf } from "../src/music/colour.ts";
import { LETTERS, find, folded } from "../src/music/letters.ts";
import { type Line, lineAt, mayFollow } from "../src/music/lyrics.ts";
import { PagedList } from "../src/music/pages.ts";
import { UNHEARD, hear, isPlay } from "../src/music/played.ts";
import { gainFactor, targetOf, volumeFor } from "../src/music/sound.ts";
import { scrollTo, windowOf } from "../src/music/virtual.ts";

test("half of a track, really heard, is a play", () => {
  let heard = UNHEARD;
  for (let at = 0; at <= 50_000; at += 250) heard = hear(heard, at);
  assert.ok(isPlay(heard, 100_000));
  assert.ok(!isPlay(heard, 100_600));
});

test("a jump is not heard, and four minutes are enough", () => {
  assert.equal(hear(hear(UNHEARD, 250), 90_000).ms, 250);
  assert.equal(hear(hear(UNHEARD, 250), 0).ms, 250);
  assert.ok(isPlay({ ...UNHEARD, ms: 240_000 }, 3_600_000));
  assert.ok(!isPlay({ ...UNHEARD, ms: 239_999 }, 3_600_000));
  assert.ok(!isPlay(UNHEARD, 0));
});

const rows = fc.record({ count: fc.nat(2_000_000), rowHeight: fc.integer({ min: 20, max: 300 }), viewHeight: fc.integer({ min: 300, max: 2000 }) });

test("the window covers what is visible, with few rows", () => {
  fc.assert(
    fc.property(rows, fc.double({ min: 0, max: 1, noNaN: true }), (list, part) => {
      const { height } = windowOf({ ...list, scrolled: 0 });
      const scrolled = part * Math.max(0, height - list.viewHeight);
      const shown = windowOf({ ...list, scrolled });
      assert.ok(shown.end - shown.first <= list.viewHeight / list.rowHeight + 13);
      if (list.count === 0) return;
      assert.ok(shown.first === 0 || shown.offset <= scrolled + 0.01);
      const bottom = shown.offset + (shown.end - shown.first) * list.rowHeight;
      assert.ok(shown.end === list.count || bottom >= scrolled + list.viewHeight - 0.01);
      assert.ok(height <= 8_000_000);
    }),
  );
});

test("the last row of a long list is reached, and rows can be scrolled to", () => {
  const list = { count: 1_000_000, rowHeight: 56, viewHeight: 800 };
  const { height, end, offset, first } = windowOf({ ...list, scrolled: 8_000_000 - 800 });
  assert.equal(end, list.count);
  assert.ok(Math.abs(offset + (end - first) * 56 - height) < 0.01);
  const scrolled = scrollTo(list, 500_000);
  const shown = windowOf({ ...list, scrolled });
  assert.ok(Math.abs(shown.offset + (500_000 - shown.first) * 56 - scrolled) < 0.01);
  assert.equal(scrollTo({ ...list, count: 50_000 }, 49_000), 49_000 * 56);
});

test("a list above or below the viewport has no rows in the document", () => {
  const list = { count: 1000, rowHeight: 50, viewHeight: 500 };
  assert.equal(windowOf({ ...list, scrolled: -5000 }).end, 0);
  const past = windowOf({ ...list, scrolled: 100_000 });
  assert.equal(past.first, past.end);
});

test("the tint of every colour leaves text readable", () => {
  const hex = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, "0")}`);
  fc.assert(
    fc.property(hex, (colour) => {
      for (const [scheme, dim, text] of [["light", "#566361", "#15201f"], ["dark", "#9dabaa", "#e6ecec"]] as const) {
        const tint = tintOf(colour, scheme);
        for (const [a, b] of [[tint.ground, dim], [tint.ground, text], [tint.accent, tint.ground], [tint.accent, tint.onAccent]] as const) {
          assert.ok(contrast(a, b) >= 4.5, `${colour} ${scheme} ${a} ${b}`);
        }
      }
    }),
  );
  assert.ok(Math.abs(contrast("#000000", "#ffffff") - 21) < 0.01);
});

test("letters are found in a sorted list", async () => {
  const names = ["1999", "Abba", "Ärzte", "Björk", "The Bol", "Zoé", "Ωmega", "夜"].sort((a, b) => (folded(a) < folded(b) ? -1 : 1));
  const at = async (index: number) => names[index] ?? "";
  const found = async (label: string) => {
    const letter = LETTERS.find((it) => it.label === label);
    assert.ok(letter);
    return names[await find(letter, names.length, at)];
  };
  assert.equal(await found("#"), "1999");
  assert.equal(await found("A"), "Abba");
  assert.equal(await found("C"), "The Bol");
  assert.equal(await found("…"), "Ωmega");
});

test("pages are loaded once, and dropped far from the reader", async () => {
  const asked: number[] = [];
  const list = new PagedList(async (offset, limit) => {
    asked.push(offset);
    return { total: 50_000, offset, items: Array.from({ length: limit }, (_, index) => offset + index) };
  }, 500);
  list.want(490, 510);
  await new Promise(setImmediate);
  assert.deepEqual(asked, [0, 500]);
  assert.equal(list.at(505), 505);
  assert.equal(list.at(1000), undefined);
  list.want(0, 1000);
  assert.equal(asked.length, 2);
  for (let at = 1000; at < 40_000; at += 500) {
    list.want(at, at + 1);
    await new Promise(setImmediate);
  }
  list.want(39_500, 39_501);
  assert.equal(list.at(0), undefined);
  assert.equal(list.at(39_500), 39_500);
});

test("pages that are not wanted any more are aborted, and are no error", async () => {
  const aborted: number[] = [];
  const list = new PagedList<number>(
    (offset, _, signal) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => {
          aborted.push(offset);
          reject(new DOMException("", "AbortError"));
        }),
      ),
    500,
  );
  list.want(0, 1);
  list.want(5000, 5001);
  await new Promise(setImmediate);
  assert.deepEqual(aborted, [0]);
  assert.equal(list.error.value, null);
});

test("what was wanted last is loaded again after a failure", async () => {
  let isReachable = false;
  const list = new PagedList(async (offset) => {
    if (!isReachable) throw new Error("no response");
    return { total: 2000, offset, items: [offset] };
  }, 500);
  list.want(1000, 1001);
  await new Promise(setImmediate);
  assert.notEqual(list.error.value, null);
  isReachable = true;
  list.again();
  await new Promise(setImmediate);
  assert.equal(list.error.value, null);
  assert.equal(list.at(1000), 1000);
  assert.equal(list.at(0), undefined);
});

test("the line that is sung is the last one whose time has come", () => {
  const lines: Line[] = [{ startMs: 1000, text: "a" }, { startMs: 4000, text: "b" }, { startMs: 4000, text: "c" }];
  assert.deepEqual([0, 999, 1000, 3999, 4000, 90_000].map((ms) => lineAt(lines, ms)), [-1, -1, 0, 0, 2, 2]);
  assert.equal(lineAt([{ text: "without a time" }], 5000), -1);
  assert.equal(lineAt([], 5000), -1);
});

test("a gain in decibels becomes a factor that does not clip", () => {
  const near = (factor: number, expected: number) => assert.ok(Math.abs(factor - expected) < 1e-3, `${factor}`);
  const gain = { trackGain: -6.02, trackPeak: 0.9, albumGain: 6.02, albumPeak: 0.8 };
  near(gainFactor(gain, "track"), 0.5);
  near(gainFactor(gain, "album"), 1.25);
  near(gainFactor({ albumGain: 6.02 }, "track"), 2);
  near(gainFactor({ trackGain: -12.04, albumPeak: 9 }, "album"), 0.25);
  assert.equal(gainFactor(gain, "off"), 1);
  assert.equal(gainFactor(undefined, "track"), 1);
  assert.equal(gainFactor({ trackPeak: 2 }, "track"), 1);
});

test("the volume of an element stays within its range", () => {
  assert.equal(volumeFor(1, { trackGain: 12 }, "track"), 1);
  assert.ok(Math.abs(volumeFor(0.5, { trackGain: 6.02 }, "track") - 0.5) < 1e-3);
  assert.equal(volumeFor(0, { trackGain: 60 }, "track"), 0);
});

test("a track that the browser cannot play is asked for as Opus, and a limit applies to all", () => {
  const track = { id: "tr-1", file: "/a.flac" };
  assert.equal(targetOf(track, "original", true, true), "/a.flac");
  assert.equal(targetOf(track, "96", true, true), "/-/api/tracks/tr-1/stream?bitrate=96");
  assert.equal(targetOf(track, "64", false, true), "/-/api/tracks/tr-1/stream?format=opus&bitrate=64");
  assert.equal(targetOf(track, "original", false, true), "/-/api/tracks/tr-1/stream?format=opus&bitrate=192");
  assert.equal(targetOf(track, "64", true, false), "/a.flac");
});

test("lyrics follow the music again some seconds after the user has scrolled", () => {
  assert.ok(mayFollow(-Infinity, 0));
  assert.ok(!mayFollow(1000, 1000));
  assert.ok(!mayFollow(1000, 4999));
  assert.ok(mayFollow(1000, 5000));
});
