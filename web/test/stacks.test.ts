import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { type Frame, boxes, hottest, neighbour, unfold } from "../src/ops/stacks.ts";

const FOLDED = `server;main;read 2
server;main;write;copy 5
server;main;write 1
workers;main;encode it;copy 8
`;

/** Returns the frame at a path of names. */
function at(root: Frame, ...names: string[]): Frame {
  return names.reduce((frame, name) => {
    const found = frame.callees.find((it) => it.name === name);
    assert.ok(found, name);
    return found;
  }, root);
}

test("folded stacks become a tree with the samples of all callees", () => {
  const root = unfold(FOLDED);
  assert.equal(root.count, 16);
  assert.deepEqual(root.callees.map((it) => [it.name, it.count]), [["server", 8], ["workers", 8]]);
  const write = at(root, "server", "main", "write");
  assert.deepEqual([write.count, write.own], [6, 1]);
  assert.equal(at(root, "workers", "main", "encode it").count, 8, "names may have spaces");
  assert.equal(unfold("").count, 0);
  assert.equal(unfold("no number\n\n").count, 0);
});

test("rectangles are as wide as their share, callees below their callers", () => {
  const root = unfold(FOLDED);
  const shown = boxes(root, 0.1).map(({ frame, depth, left, width }) => [frame.name, depth, left, width]);
  assert.deepEqual(shown, [
    ["server", 0, 0, 0.5],
    ["main", 1, 0, 0.5],
    ["read", 2, 0, 0.125],
    ["write", 2, 0.125, 0.375],
    ["copy", 3, 0.125, 0.3125],
    ["workers", 0, 0.5, 0.5],
    ["main", 1, 0.5, 0.5],
    ["encode it", 2, 0.5, 0.5],
    ["copy", 3, 0.5, 0.5],
  ]);
  assert.deepEqual(boxes(unfold(""), 0.1), []);
});

test("a frame that is enlarged has the whole width, below its callers", () => {
  const root = unfold(FOLDED);
  const shown = boxes(at(root, "server", "main", "write"), 0.1).map(({ frame, depth, left, width }) => [frame.name, depth, left, width]);
  assert.deepEqual(shown, [
    ["server", 0, 0, 1],
    ["main", 1, 0, 1],
    ["write", 2, 0, 1],
    ["copy", 3, 0, 5 / 6],
  ]);
});

test("callees never exceed their caller", () => {
  const names = fc.constantFrom("a", "b", "c", "d");
  const stack = fc.tuple(fc.array(names, { minLength: 1, maxLength: 6 }), fc.integer({ min: 1, max: 9 }));
  fc.assert(
    fc.property(fc.array(stack, { maxLength: 30 }), (stacks) => {
      const root = unfold(stacks.map(([path, count]) => `${path.join(";")} ${count}`).join("\n"));
      const check = (frame: Frame) => {
        const sum = frame.callees.reduce((total, it) => total + it.count, frame.own);
        assert.equal(sum, frame.count);
        frame.callees.forEach(check);
      };
      check(root);
      for (const { left, width } of boxes(root, 0)) assert.ok(left >= 0 && left + width <= 1 + 1e-9);
      assert.equal(hottest(root, Infinity).reduce((total, [, samples]) => total + samples, 0), root.count);
    }),
  );
});

test("the hottest functions are those that ran themselves, wherever they were called", () => {
  assert.deepEqual(hottest(unfold(FOLDED), 2), [
    ["copy", 13],
    ["read", 2],
  ]);
});

test("arrow keys lead to callers, callees and functions beside them", () => {
  const root = unfold(FOLDED);
  const read = at(root, "server", "main", "read");
  assert.equal(neighbour(root, "ArrowDown")?.name, "server");
  assert.equal(neighbour(at(root, "server", "main"), "ArrowDown")?.name, "write", "the widest callee");
  assert.equal(neighbour(read, "ArrowRight")?.name, "write");
  assert.equal(neighbour(read, "ArrowLeft"), null);
  assert.equal(neighbour(read, "ArrowUp")?.name, "main");
  assert.equal(neighbour(at(root, "server"), "ArrowUp"), null);
  assert.equal(neighbour(read, "ArrowDown"), null);
  assert.equal(neighbour(read, "a"), null);
});
