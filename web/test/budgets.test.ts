import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { areasOf, dynamicImports, loadedWith, rows, staticImports } from "../budgets.mjs";

const FILES = new Map(
  Object.entries({
    "app.js": `import{a as b}from"./chunk.js";import"./effects.js";const later=()=>import("./music.js");export{b};`,
    "chunk.js": `export*from"./deep.js";`,
    "deep.js": "",
    "effects.js": "",
    "photos.js": `import{a}from"./chunk.js";const view=()=>import("./viewer.js").then(it=>it.view);`,
    "viewer.js": `import{a}from"./photos.js";import{b}from"./stage.js";`,
    "stage.js": "",
    "music-ABCD2345.js": `import{a}from"./chunk.js";import{b}from"./player.js";`,
    "player.js": "",
    "app.css": "",
  }).map(([name, text]) => [name, Buffer.from(text)]),
);

test("static imports are found, dynamic ones are not", () => {
  assert.deepEqual(staticImports(String(FILES.get("app.js"))), ["chunk.js", "effects.js"]);
  assert.deepEqual(dynamicImports(String(FILES.get("app.js"))), ["music.js"]);
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

test("an area costs what the first view has not loaded, also what it loads later", () => {
  const found = rows(FILES, [
    { path: "photos", module: "photos" },
    { path: "folders", module: "photos" },
    { path: "music", module: "music" },
  ]);
  const size = (...names: string[]) => names.reduce((sum, name) => sum + gzipSync(FILES.get(name) ?? "", { level: 9 }).length, 0);
  assert.deepEqual(
    found.map((row) => [row.name, row.bytes]),
    [
      ["first view", size("app.js", "chunk.js", "deep.js", "effects.js", "photos.js")],
      ["app.css", size("app.css")],
      ["photos", size("viewer.js", "stage.js")],
      ["music", size("music-ABCD2345.js", "player.js")],
      ["everything", size(...FILES.keys())],
    ],
  );
});

test("of the texts, only the language with the most bytes counts", () => {
  const texts = new Map([
    ["app.js", Buffer.from("")],
    ["app.css", Buffer.from("")],
    ["photos.js", Buffer.from("")],
    ["music.js", Buffer.from(`import("./music-en.js");import("./music-ar.js");import("./music-de.js");`)],
    ["music-en.js", Buffer.from("a song")],
    ["music-ar.js", Buffer.from("b".repeat(20) + "some more letters than in the other languages")],
    ["music-de.js", Buffer.from("Musik")],
  ]);
  const size = (name: string) => gzipSync(texts.get(name) ?? "", { level: 9 }).length;
  const found = rows(texts, [
    { path: "photos", module: "photos" },
    { path: "music", module: "music" },
  ]);
  const music = found.find((row) => row.name === "music");
  assert.equal(music?.bytes, size("music.js") + size("music-ar.js"));
});
