import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { micros, percent, range, short, span } from "../src/ops/format.ts";
import { type Ring, column, condensed, emptyRing, merge, ratioOf, sumOf, total } from "../src/ops/history.ts";
import { folderOf, pathQuery } from "../src/ops/confirm.tsx";
import { bandPath, dotPath, linePath, lone, peak } from "../src/ops/line.ts";
import { pause, staleSeconds } from "../src/ops/poll.ts";
import { between, boundsOf, quantileBucket } from "../src/ops/quantile.ts";

const BOUNDS = [10, 25, 50, 1000];

test("a quantile is the bucket of its nearest rank", () => {
  assert.equal(quantileBucket([0, 0, 0], 0.5), null);
  assert.equal(quantileBucket([0, 99, 0, 1], 0.99), 1);
  assert.equal(quantileBucket([0, 98, 0, 2], 0.99), 3);
  assert.equal(quantileBucket([1], 0.01), 0);
});

test("a quantile's bucket contains the duration of that rank", () => {
  const durations = fc.array(fc.integer({ min: 0, max: 2000 }), { minLength: 1, maxLength: 500 });
  fc.assert(
    fc.property(durations, fc.constantFrom(0.5, 0.9, 0.99, 1), (list, q) => {
      const counts = [0, 0, 0, 0, 0];
      const bucketOf = (us: number) => BOUNDS.findIndex((bound) => us <= bound) >>> 0;
      for (const us of list) counts[Math.min(4, bucketOf(us))]! += 1;
      const exact = [...list].sort((a, b) => a - b)[Math.ceil(list.length * q - 1e-9) - 1]!;
      const { low, high } = boundsOf(BOUNDS, quantileBucket(counts, q)!);
      assert.ok((low < exact || low === 0) && exact <= (high ?? Infinity), `${low} ${exact} ${high}`);
    }),
  );
});

test("counts between two totals begin anew after a restart", () => {
  assert.deepEqual(between([1, 2], [4, 2]), [3, 0]);
  assert.deepEqual(between([9, 9], [4, 2]), [4, 2]);
  assert.deepEqual(between(undefined, [4, 2]), [4, 2]);
});

test("updates in pieces give the same ring as one update", () => {
  const values = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 400 });
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 50 }), (all, size) => {
      const update = (from: number, to: number) => ({ seconds: 1, end: to, count: to - from, values: { hits: all.slice(from, to) } });
      const whole = merge(emptyRing(1), update(0, all.length));
      let pieces: Ring = emptyRing(1);
      for (let from = 0; from < all.length; from += size) {
        // Updates that overlap change nothing.
        pieces = merge(pieces, update(Math.max(0, from - 3), Math.min(all.length, from + size)));
      }
      assert.deepEqual(column(pieces, "hits"), all.slice(-300));
      assert.deepEqual(pieces, whole);
    }),
  );
});

test("series that an update leaves out are 0, percentiles have no value, and gaps stay gaps", () => {
  let ring = merge(emptyRing(10), { seconds: 10, end: 20, count: 2, values: { hits: [1, 2], hitP50: [3, 4] } });
  ring = merge(ring, { seconds: 10, end: 50, count: 1, values: { misses: [5] } });
  assert.equal(ring.length, 5);
  assert.deepEqual(column(ring, "hits"), [1, 2, null, null, 0]);
  assert.deepEqual(column(ring, "misses"), [0, 0, null, null, 5]);
  assert.deepEqual(column(ring, "hitP50"), [3, 4, null, null, null]);
  assert.deepEqual(column(ring, "others"), [0, 0, 0, 0, 0]);
  assert.deepEqual(sumOf(ring, ["hits", "misses"]), [1, 2, null, null, 5]);
  assert.deepEqual(ratioOf([1, 0, null], [2, 0, 1]), [0.5, null, null]);
  assert.equal(total([1, null, 2]), 3);
});

test("a long gap leaves only what is new", () => {
  const ring = merge(emptyRing(1), { seconds: 1, end: 5, count: 5, values: { hits: [1, 1, 1, 1, 1] } });
  const later = merge(ring, { seconds: 1, end: 5000, count: 2, values: { hits: [7, 8] } });
  assert.equal(later.length, 300);
  assert.equal(column(later, "hits").length, 300);
  assert.deepEqual(column(later, "hits").slice(-3), [null, 7, 8]);
});

test("tables have few rows, and the last one ends with the last value", () => {
  assert.deepEqual(condensed([1, 2, 3, 4, 5], 2), [1.5, 4]);
  assert.deepEqual(condensed([null, null], 1), [null]);
  assert.deepEqual(condensed([], 5), []);
});

test("ranges of buckets name their bounds and nothing more precise", () => {
  assert.equal(range(boundsOf(BOUNDS, 0)), "≤ 10 μs");
  assert.equal(range(boundsOf(BOUNDS, 2)), "25–50 μs");
  assert.equal(range(boundsOf(BOUNDS, 3)), "50 μs–1 ms");
  assert.equal(range(boundsOf(BOUNDS, 4)), "> 1 ms");
  assert.equal(micros(2500), "2.5 ms");
  assert.equal(micros(7_500_000), "7.5 sec");
});

test("numbers are short, and 100 % is only said if nothing is missing", () => {
  assert.equal(short(3.456), "3.5");
  assert.equal(short(412.4), "412");
  assert.equal(short(12_345), "12.3K");
  assert.equal(percent(0.934), "93%");
  assert.equal(percent(0.99996), "99.9%");
  assert.equal(percent(1), "100%");
  assert.equal(span(0), "0s");
  assert.equal(span(61), "1m 1s");
  assert.equal(span(3 * 86_400 + 4 * 3600 + 59), "3d 4h");
  assert.equal(span(7200), "2h");
});

test("lines have gaps where there is no value", () => {
  const box = { width: 10, height: 4 };
  assert.equal(linePath([0, 2, null, 1], 2, box), "M0 4L3.3 0M10 2");
  assert.equal(linePath([], 2, box), "");
  assert.equal(linePath([5, 5], 0, box), "M0 4L10 4");
  assert.equal(bandPath([0, 0, null, 1], [1, 2, null, 2], 2, box), "M0 2L3.3 0L3.3 4L0 4Z");
  assert.equal(peak([1, null, 3]), 3);
});

test("requests become rarer after failures and in hidden pages", () => {
  assert.equal(pause(0, false), 2000);
  assert.equal(pause(0, true), 10_000);
  assert.equal(pause(2, false), 8000);
  assert.equal(pause(50, true), 60_000);
  assert.equal(staleSeconds(1000, 5999), null);
  assert.equal(staleSeconds(1000, 13_400), 12);
});

test("a value without neighbours is a dot, also the only one of a history", () => {
  const box = { width: 10, height: 4 };
  assert.deepEqual(lone([1, null, 2, 3, null, 4]), [0, 5]);
  assert.deepEqual(lone([null]), []);
  assert.equal(dotPath([2], 2, box), "M7 0h.01");
  assert.equal(dotPath([1, 1], 1, box), "");
  assert.equal(dotPath([null, null, 1, null, null], 2, box), "M5 2h.01");
});

test("suggestions are those of the folder in which the typed path is", () => {
  assert.deepEqual(["", "20", "2019/", "/2019/a", "2019//b/c"].map(folderOf), ["", "", "2019", "2019", "2019//b"]);
});

test("a typed path becomes a parameter, and an empty path means the whole library", () => {
  assert.equal(pathQuery("path", "  "), "");
  assert.equal(pathQuery("path", "/"), "");
  assert.equal(pathQuery("folder", "/2019/Über & so/"), "?folder=2019%2F%C3%9Cber%20%26%20so");
});
