import assert from "node:assert/strict";
import { test } from "node:test";

import { withPrefix } from "../src/base.ts";

test("only files of the library get the prefix of files", () => {
  for (const [target, expected] of [
    ["/2019/a%20b.jpg?w=480", "/-/file/2019/a%20b.jpg?w=480"],
    ["/-x.jpg", "/-/file/-x.jpg"],
    ["/restaurant.jpg", "/-/file/restaurant.jpg"],
    ["/-/api/albums", "/-/api/albums"],
    ["/-/cover/al-1?w=300", "/-/cover/al-1?w=300"],
    ["/-", "/-"],
    ["/rest/ping", "/rest/ping"],
    ["/rest?x", "/rest?x"],
  ] as const) {
    assert.equal(withPrefix(target, "/-/file"), expected);
    assert.equal(withPrefix(target, ""), target);
  }
});
