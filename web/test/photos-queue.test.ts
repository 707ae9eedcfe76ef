import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { backoff } from "../src/photos/retry.ts";
import { LoadQueue } from "../src/photos/queue.ts";

test("the loads added last start first, in the order of their urgency", () => {
  const started: number[] = [];
  const queue = new LoadQueue<number>(2, (item) => started.push(item));
  queue.pause(true);
  queue.add([1, 2]);
  queue.add([3, 4]);
  queue.pause(false);
  assert.deepEqual(started, [3, 4]);
  queue.remove(3);
  assert.deepEqual(started, [3, 4, 1]);
});

test("no load starts when it has been removed, and none starts twice", () => {
  const started: number[] = [];
  const queue = new LoadQueue<number>(1, (item) => started.push(item));
  queue.add([1, 2, 3]);
  queue.add([1]);
  queue.remove(2);
  queue.remove(1);
  assert.deepEqual(started, [1, 3]);
});

test("never more than the limit run, and all end up started", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.uniqueArray(fc.nat(), { maxLength: 40 }), (limit, items) => {
      const running: number[] = [];
      let count = 0;
      const queue = new LoadQueue<number>(limit, (item) => {
        running.push(item);
        count += 1;
        assert.ok(queue.runningCount <= limit);
      });
      queue.add(items);
      while (running.length > 0) queue.remove(running.shift()!);
      assert.equal(count, items.length);
    }),
  );
});

test("pauses grow up to a minute and respect the server's", () => {
  assert.deepEqual([0, 1, 2, 9].map((it) => backoff(it, undefined)), [1000, 2000, 4000, 60_000]);
  assert.equal(backoff(0, 7), 7000);
  assert.equal(backoff(0, 4000), 60_000);
});
