import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { type Month, type Rows, Sections } from "../src/photos/sections.ts";

const metrics = { width: 1300, target: 220, gap: 4, heading: 52 };

/** Returns rows for a section whose ratios depend on `seed`. */
function rowsOf(sections: Sections, index: number, seed = 1): Rows {
  const { month, from, count } = sections.list[index]!;
  const numbers = Array.from({ length: count }, (_, item) => item);
  return {
    from,
    total: count,
    id: numbers.map((item) => `ph-${month}-${from + item}`),
    file: numbers.map((item) => `/${month}/${from + item}.jpg`),
    day: numbers.map(() => 1),
    ratio: numbers.map((item) => 400 + ((item * 7919 * seed) % 2000)),
    placeholder: numbers.map(() => null),
    colour: numbers.map(() => null),
  };
}

const months = fc
  .array(fc.integer({ min: 1, max: 2500 }), { minLength: 1, maxLength: 40 })
  .map((counts): Month[] => counts.map((count, index) => [`${2040 - index}-05`, count]));

test("months of more than 1,000 pictures are loaded in parts", () => {
  const sections = new Sections([["2024-07", 2300], ["2024-06", 5]], metrics);
  assert.deepEqual(sections.list.map((it) => [it.month, it.from, it.count, it.isFirst, it.isLast]), [
    ["2024-07", 0, 1000, true, false],
    ["2024-07", 1000, 1000, false, false],
    ["2024-07", 2000, 300, false, true],
    ["2024-06", 0, 5, true, true],
  ]);
  assert.equal(sections.total, 2305);
  assert.deepEqual(sections.pictureAt(2301), { section: 3, item: 1 });
});

test("the picture at the place stays when sections above and at it are loaded", () => {
  fc.assert(
    fc.property(months, fc.double({ min: 0, max: 1, noNaN: true }), fc.array(fc.nat(), { maxLength: 20 }), (list, part, loads) => {
      const sections = new Sections(list, metrics);
      const start = sections.at(sections.height * part);
      sections.load(start, rowsOf(sections, start));
      const y = sections.top(start) + sections.list[start]!.height * 0.6;
      const anchor = sections.anchor(y)!;
      for (const seed of loads) {
        const index = seed % sections.list.length;
        if (index !== start) sections.load(index, rowsOf(sections, index, 1 + (seed % 5)));
      }
      const now = sections.position(anchor)!;
      assert.deepEqual(sections.anchor(now + 1e-6)?.id, anchor.id);
      assert.ok(Math.abs(now - sections.top(start) - 0.6 * sections.list[start]!.height) < 1e-3);
    }),
    { numRuns: 40 },
  );
});

test("the picture at the place stays when the width changes", () => {
  const sections = new Sections([["2024-07", 900], ["2024-06", 800]], metrics);
  sections.load(0, rowsOf(sections, 0));
  sections.load(1, rowsOf(sections, 1));
  const anchor = sections.anchor(sections.top(1) + 9000)!;
  sections.measure({ ...metrics, width: 360, target: 120 });
  const index = sections.list[1]!.rows!.id.indexOf(anchor.id!);
  assert.equal(sections.position(anchor), sections.topOf(1, index) + anchor.offset);
});

test("a place in a section that is not loaded keeps its share of the height", () => {
  const sections = new Sections([["2024-07", 400], ["2024-06", 400]], metrics);
  const anchor = sections.anchor(sections.top(1) + sections.list[1]!.height / 2)!;
  sections.load(1, rowsOf(sections, 1));
  assert.ok(Math.abs(sections.position(anchor)! - sections.top(1) - sections.list[1]!.height / 2) < 1e-6);
});

test("positions and indices of pictures agree", () => {
  const sections = new Sections([["2024-07", 1500], ["2024-06", 800]], metrics);
  sections.load(0, rowsOf(sections, 0));
  for (const index of [0, 3, 500, 999]) {
    const { section, item } = sections.pictureAt(index);
    const first = sections.indexAt(sections.topOf(section, item) + 1);
    assert.ok(first <= index && index - first < 12);
  }
  assert.equal(sections.indexAt(sections.height + 10), 2299);
});

test("an unloaded section keeps its height", () => {
  const sections = new Sections([["2024-07", 700]], metrics);
  sections.load(0, rowsOf(sections, 0));
  const { height } = sections;
  sections.unload(0);
  assert.equal(sections.height, height);
  assert.equal(sections.list[0]!.boxes, null);
});

test("an anchor of a month that is gone has no position", () => {
  const anchor = new Sections([["2024-07", 10]], metrics).anchor(0)!;
  assert.equal(new Sections([["2024-06", 10]], metrics).position(anchor), null);
});

test("the picture above or below is the nearest one, across months too", () => {
  const sections = new Sections([["2024-07", 5], ["2024-06", 5]], { ...metrics, width: 600 });
  const square = (index: number): Rows => ({ ...rowsOf(sections, index), ratio: [1000, 1000, 1000, 1000, 1000] });
  sections.load(0, square(0));
  sections.load(1, square(1));
  assert.equal(sections.besideRow(1, 1), 4);
  assert.equal(sections.besideRow(3, 1), 5);
  assert.equal(sections.besideRow(6, -1), 4);
  assert.equal(sections.besideRow(0, -1), 0);
  assert.equal(sections.besideRow(9, 1), 9);
});
