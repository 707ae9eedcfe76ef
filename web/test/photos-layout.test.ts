import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { type Metrics, boxRatio, layOut, rowAt, rowOf } from "../src/photos/layout.ts";

const metrics: Metrics = { width: 1300, target: 220, gap: 4 };
const ratios = fc.array(fc.oneof(fc.integer({ min: 300, max: 2500 }), fc.constantFrom(0, 1500, 667, 12_000)), { maxLength: 300 });
const anyMetrics = fc.record({ width: fc.integer({ min: 280, max: 4000 }), target: fc.constantFrom(120, 220), gap: fc.constantFrom(2, 4) });

test("rows keep the order and hold every picture once", () => {
  fc.assert(
    fc.property(ratios, anyMetrics, fc.boolean(), (list, it, isEnd) => {
      const { rows, tops } = layOut(list, it, isEnd);
      assert.equal(rows[0], 0);
      assert.equal(rows.at(-1), list.length);
      for (let row = 1; row < rows.length; row += 1) {
        assert.ok(rows[row]! > rows[row - 1]!);
        assert.ok(tops[row]! > tops[row - 1]!);
      }
    }),
  );
});

test("rows fill the width, and pictures neither overlap nor leave it", () => {
  fc.assert(
    fc.property(ratios, anyMetrics, fc.boolean(), (list, it, isEnd) => {
      const { rows, left, width } = layOut(list, it, isEnd);
      for (let row = 0; row + 1 < rows.length; row += 1) {
        let edge = -it.gap;
        for (let index = rows[row]!; index < rows[row + 1]!; index += 1) {
          assert.ok(Math.abs(left[index]! - edge - it.gap) <= 1);
          edge = left[index]! + width[index]!;
        }
        const isRest = isEnd && row + 2 === rows.length;
        if (isRest) assert.ok(edge <= it.width + 1);
        else assert.ok(Math.abs(edge - it.width) <= 1);
      }
    }),
  );
});

test("the last row of the end is not stretched", () => {
  const { tops } = layOut([1500], metrics, true);
  assert.equal(tops[1], 224);
});

test("rows of usual pictures come close to the target", () => {
  const list = Array.from({ length: 1000 }, (_, index) => [1500, 667, 1333, 1778][(index * 7) % 4]!);
  const { tops } = layOut(list, metrics, false);
  for (let row = 1; row < tops.length; row += 1) {
    const height = tops[row]! - tops[row - 1]! - metrics.gap;
    assert.ok(height > 220 * 0.55 && height < 220 * 1.6, `row ${row} is ${height} pixels high`);
  }
});

test("panoramas are cut, and unknown ratios replaced", () => {
  assert.equal(boxRatio(12_000), 3);
  assert.equal(boxRatio(0), 1.333);
  assert.equal(boxRatio(100), 0.45);
});

test("the row of a picture and of a position is found", () => {
  fc.assert(
    fc.property(ratios.filter((it) => it.length > 0), fc.nat(), (list, seed) => {
      const boxes = layOut(list, metrics, true);
      const index = seed % list.length;
      const row = rowOf(boxes, index);
      assert.ok(boxes.rows[row]! <= index && index < boxes.rows[row + 1]!);
      assert.equal(rowAt(boxes, boxes.tops[row]! + 1), row);
    }),
  );
});

test("100,000 pictures are laid out in a few milliseconds", () => {
  const list = Uint16Array.from({ length: 100_000 }, (_, index) => 500 + ((index * 7919) % 1500));
  // A quiet machine needs less than 10 ms; the limit leaves room for one that shares its cores.
  const times = Array.from({ length: 9 }, () => {
    const start = process.cpuUsage();
    layOut(list, metrics, true);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  });
  assert.ok(Math.min(...times) <= 80, `${Math.min(...times)} ms`);
});
