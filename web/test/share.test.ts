import assert from "node:assert/strict";
import { test } from "node:test";

import { creation } from "../src/share/types.ts";

test("the request that shares names the item or the folder, and only the choices that differ", () => {
  const plain = { days: 30, description: " ", originals: false };
  assert.equal(creation({ item: "al-1", name: "A" }, plain), "/shares?item=al-1&days=30");
  const chosen = { days: 7, description: " for you & me ", originals: true };
  assert.equal(creation({ folder: "2019/a b", name: "a b" }, chosen), "/shares?folder=2019%2Fa+b&days=7&description=for+you+%26+me&originals=1");
});
