import assert from "node:assert/strict";
import { test } from "node:test";

import { around } from "../src/photos/videos.ts";

test("a video has the videos beside it in the list as neighbours", () => {
  const [a, b, c] = ["a.mp4", "b.mov", "c.webm"].map((name) => ({ name })) as [{ name: string }, { name: string }, { name: string }];
  assert.deepEqual(around([a, b, c], "b.mov"), { video: b, previous: a, next: c });
  assert.deepEqual(around([a, b, c], "a.mp4"), { video: a, previous: undefined, next: b });
  assert.deepEqual(around([a], "a.mp4"), { video: a, previous: undefined, next: undefined });
  assert.deepEqual(around([a, b], "missing.mp4"), { video: undefined, previous: undefined, next: undefined });
});
