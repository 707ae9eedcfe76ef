import assert from "node:assert/strict";
import { test } from "node:test";

import { areasOf, loadedWith, rows, staticImports } from "../budgets.mjs";

const FILES = new Map(
  Object.entries({
    "app.js": `import{a as b}from"./chunk.js";import"./effects.js";const later=()=>import("./music.js");export{b};`,
    "chunk.js": `export*from"./deep.js";`,
    "deep.js": "",
    "effects.js": "",
    "photos.js": `import{a}from"./chunk.js";`,
    "music-ABCD2345.js": `import{a}from"./chunk.js";import{b}from"./player.js";`,
    "player.js": "",
    "app.css": "",
  }).map(([name, text]) => [name, Buffer.from(text)]),
);

test("static imports are found, dynamic ones are not", () => {
  assert.deepEqual(staticImports(String(FILES.get("app.js"))), ["chunk.js", "effects.js"]);
});

test("a module loads what its imports import", () => {
  assert.deepEqual([...loadedWith("app.js", FILES)].sort(), ["app.js", "chunk.js", "deep.js", "effects.js"]);
  assert.throws(() => loadedWith("app.js", new Map([["app.js", Buffer.from('import"./gone.js"')]])), /gone\.js/);
});

test("areas are read from their table", () => {
  const source = `[
    { path: "photos", label: "nav.photos", load: () => import("./photos/photos.tsx") },
    { path: "ops", isForAdmins: true, load: () => import("./ops/view.tsx") },
  ]`;
  assert.deepEqual(areasOf(source), [
    { path: "photos", module: "photos" },
    { path: "ops", module: "view" },
  ]);
});

test("an area costs what the first view has not loaded", () => {
  const found = rows(FILES, [
    { path: "photos", module: "photos" },
    { path: "music", module: "music" },
  ]);
  const gzip = (name: string) => found.find((row) => row.name === name)?.bytes ?? 0;
  assert.deepEqual(found.map((row) => row.name), ["first view", "app.css", "music", "everything"]);
  const empty = 20;
  assert.ok(gzip("music") > 2 * empty, "its module and the player");
  assert.equal(gzip("everything"), gzip("first view") + gzip("app.css") + gzip("music"));
});
