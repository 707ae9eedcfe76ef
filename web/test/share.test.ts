import assert from "node:assert/strict";
import { test } from "node:test";

import { loadMessages } from "../src/i18n/messages.ts";
import { describeShare, shareTitle } from "../src/share/describe.ts";
import { type Share, createShareTarget } from "../src/share/types.ts";

test("the request that shares names the item or the folder, and omits empty choices", () => {
  const plain = { days: 30, description: " ", originals: false };
  assert.equal(createShareTarget({ item: "al-1", name: "A" }, plain), "/shares?item=al-1&days=30");
  const chosen = { days: 7, description: " for you & me ", originals: true };
  assert.equal(createShareTarget({ folder: "2019/a b", name: "a b" }, chosen), "/shares?folder=2019%2Fa+b&days=7&description=for+you+%26+me&originals=1");
});

test("a list of shares names the owner of others' links, and the kind in the user's language", async () => {
    await loadMessages("share");
  const share: Share = { id: "1", url: "/s/1", kind: "photo", name: null, description: "", owner: "ann", expires: null, expired: false, visits: 1 };
  assert.equal(shareTitle(share), "Photo");
  assert.equal(shareTitle({ ...share, name: "a.jpg" }), "a.jpg");
  assert.match(describeShare(share, "ann"), /^Photo · no longer in the library · .* · 1 visit$/);
  assert.match(describeShare({ ...share, kind: "tracks" }, "ann"), /^Tracks · (?!no longer)/);
  assert.match(describeShare(share, "bob"), /^Photo · Shared by ann · /);
});
