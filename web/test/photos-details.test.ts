import assert from "node:assert/strict";
import { test } from "node:test";

import { exposure, formatName, namesOf, placeOf, settings } from "../src/photos/details.ts";
import { nameOf } from "../src/photos/names.ts";
import { crumbs, folderPath } from "../src/photos/paths.ts";

test("exposure times are written as photographers do", () => {
  assert.equal(exposure(0.004), "1/250 s");
  assert.equal(exposure(1 / 3), "1/3 s");
  assert.equal(exposure(2.5), "2.5 s");
  assert.equal(exposure(30), "30 s");
});

test("only known settings are shown", () => {
  const details = { id: "ph-1", file: "/a.jpg", name: "a.jpg", folder: "", taken: "", width: 1, height: 1, bytes: 1 };
  assert.equal(settings(details), "");
  assert.equal(settings({ ...details, fNumber: 1.8, iso: 400 }), "f/1.8 · ISO 400");
  assert.equal(settings({ ...details, focalMm: 23, exposureSeconds: 0.004 }), "23 mm · 1/250 s");
});

test("coordinates have their half of the world", () => {
  assert.equal(placeOf(48.137, -11.5), "48.137° N, 11.5° W");
  assert.equal(placeOf(-33.9, 18.4), "33.9° S, 18.4° E");
});

test("the names of a place are in one line, in the order of the response", () => {
  assert.equal(namesOf(JSON.parse('{"sublocation":"Altstadt","city":"Zürich","country":"Schweiz"}')), "Altstadt, Zürich, Schweiz");
});

test("formats have the names that people know", () => {
  assert.deepEqual(["image/avif", "image/webp", "image/jpeg", "image/svg+xml", "text/html"].map(formatName), ["AVIF", "WebP", "JPEG", "SVG", ""]);
});

test("names and folders survive percent signs, slashes and other scripts", () => {
  assert.equal(nameOf({ file: "/2019/a%20b.jpg" }), "a b.jpg");
  assert.equal(nameOf({ file: "/100%.jpg" }), "100%.jpg");
  assert.equal(folderPath(""), "folders");
  assert.equal(folderPath("2019/a b/50%"), "folders/2019/a%20b/50%25");
  assert.deepEqual(crumbs("2019/صور"), [{ name: "2019", path: "2019" }, { name: "صور", path: "2019/صور" }]);
  assert.deepEqual(crumbs(""), []);
});
