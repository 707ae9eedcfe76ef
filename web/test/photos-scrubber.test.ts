import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { loadMessages } from "../src/i18n/messages.ts";
import { monthLabel } from "../src/photos/month-label.ts";
import { firstOf, monthAt, nearest, ticks, yearStep } from "../src/photos/scrubber.ts";
import type { Month } from "../src/photos/sections.ts";

const list = fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 500 }).map((counts): Month[] =>
  counts.map((count, index) => {
    const month = 12 * 2030 - index;
    return [`${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, "0")}`, count];
  }),
);
const some: Month[] = [["2024-07", 10], ["2024-02", 20], ["2023-12", 5], ["2021-01", 65]];

test("marks stand by the number of pictures, in order, with room between years", () => {
  fc.assert(
    fc.property(list, fc.integer({ min: 100, max: 1200 }), (months, height) => {
      const found = ticks(months, height);
      let year = -Infinity;
      let before = -Infinity;
      for (const tick of found) {
        assert.ok(tick.at >= 0 && tick.at < 1 && tick.at > before);
        before = tick.at;
        if (tick.year === null) continue;
        assert.ok(tick.at * height - year >= 21.99);
        year = tick.at * height;
      }
    }),
  );
});

test("a mark is at the share of the pictures before its month", () => {
  assert.deepEqual(ticks(some, 1000).map(({ month, at, year }) => [month, at, year]), [
    ["2024-07", 0, "2024"],
    ["2024-02", 0.1, null],
    ["2023-12", 0.3, "2023"],
    ["2021-01", 0.35, "2021"],
  ]);
});

test("the month of every picture is found", () => {
  fc.assert(
    fc.property(list, fc.nat(), (months, seed) => {
      const total = months.reduce((sum, [, count]) => sum + count, 0);
      const index = seed % total;
      const month = monthAt(months, index);
      const first = firstOf(months, month);
      assert.ok(first <= index && index < first + months[month]![1]);
    }),
  );
});

test("dates without pictures lead to the next older month", () => {
  assert.equal(nearest(some, "2024-02"), 1);
  assert.equal(nearest(some, "2024-01"), 2);
  assert.equal(nearest(some, "2023"), 2);
  assert.equal(nearest(some, "2030-01"), 0);
  assert.equal(nearest(some, "1990-01"), 3);
});

test("steps by years lead to the newest month of a year", () => {
  assert.equal(yearStep(some, 0, 1), 2);
  assert.equal(yearStep(some, 2, 1), 3);
  assert.equal(yearStep(some, 3, 1), 3);
  assert.equal(yearStep(some, 3, -1), 2);
  assert.equal(yearStep(some, 2, -1), 0);
  assert.equal(yearStep(some, 1, -1), 0);
});

test("the label of a month has the number of its pictures", async () => {
  await loadMessages("photos");
  assert.deepEqual(some.map(monthLabel).slice(0, 2), ["July 2024 · 10 photos", "February 2024 · 20 photos"]);
  assert.equal(monthLabel(["", 1]), "Without a date · 1 photo");
  assert.equal(monthLabel(["2019-07", 12_345]), "July 2019 · 12,345 photos");
});
