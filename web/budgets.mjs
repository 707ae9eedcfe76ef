// Compares the sizes of a built page with their budgets: `node budgets.mjs [FOLDER]`.
//
// Sizes are those of `gzip -9`, in bytes. An area costs its own module and all modules that it
// imports at once or later, without those that the first view has loaded already. Of the texts,
// the language with the most bytes counts: a person loads one language.

import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = fileURLToPath(new URL(".", import.meta.url));
const KB = 1000;
const FIRST_VIEW_MAX = 30 * KB;
const STYLE_MAX = 10 * KB;
const AREA_MAX = 25 * KB;
/** Budgets of areas that have more than the usual one. */
const AREAS_MAX = { ops: 45 * KB };
const EVERYTHING_MAX = 140 * KB;
/** Area that the first view shows; its budget is for what it loads later. */
const START = "photos";
/** Files that are not text, and that no budget counts. */
const PICTURES = /\.png$/;
/** Files with texts of one language, which is the first group. */
const TEXTS = /^[a-z]+-([a-z]{2})\.js$/;
/** Files with the texts of the first view. */
const BASE = /^base-[a-z]{2}\.js$/;

/** Returns the names of the modules that a module imports at once. */
export function staticImports(code) {
  const found = code.matchAll(/(?:\bfrom|\bimport)\s*"\.\/([^"]+\.js)"/g);
  return [...found].map((match) => match[1]);
}

/** Returns the names of the modules that a module imports when it needs them. */
export function dynamicImports(code) {
  return [...code.matchAll(/\bimport\("\.\/([^"]+\.js)"\)/g)].map((match) => match[1]);
}

/** Returns a module's name and those of all modules that loading it loads. */
export function loadedWith(name, files) {
  const loaded = new Set();
  const waiting = [name];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (loaded.has(next)) continue;
    if (!files.has(next)) throw new Error(`${next} is imported, but it does not exist`);
    loaded.add(next);
    waiting.push(...staticImports(files.get(next).toString()));
  }
  return loaded;
}

/** Returns the modules that a view needs in the end, without `known` ones and what only those import. */
function neededBy(name, files, known) {
  const needed = new Set();
  const waiting = [name];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (known.has(next) || needed.has(next)) continue;
    needed.add(next);
    const code = files.get(next).toString();
    waiting.push(...staticImports(code), ...dynamicImports(code));
  }
  return needed;
}

/** Returns the areas in the source of `areas.ts`: each area's path, and the name of its module. */
export function areasOf(source) {
  const found = source.matchAll(/path: "(\w+)"[^}]*?import\("[^"]*?(\w+)\.tsx?"\)/g);
  return [...found].map((match) => ({ path: match[1], module: match[2] }));
}

/** Returns the file of a module; a bundler may have added a hash to its name. */
function fileOf(module, files) {
  return [...files.keys()].find((name) => name.replace(/-[A-Z0-9]{8}\.js$/, ".js") === `${module}.js`);
}

/** Returns the compressed size of files, with the texts of one language: the largest. */
function sizeOf(names, files) {
  const languages = new Map();
  let sum = 0;
  for (const name of names) {
    const bytes = gzipSync(files.get(name), { level: 9 }).length;
    const language = name.match(TEXTS)?.[1];
    if (language) languages.set(language, (languages.get(language) ?? 0) + bytes);
    else sum += bytes;
  }
  return sum + Math.max(0, ...languages.values());
}

/** Returns rows of a name, a size and a budget for the files of a built page. */
export function rows(files, areas) {
  const size = (names) => sizeOf(names, files);
  const first = loadedWith("app.js", files);
  const found = [];
  const entries = new Map();
  for (const { path, module } of areas) {
    const file = fileOf(module, files);
    if (!file) throw new Error(`the module ${module} of the area ${path} has no file`);
    // Two areas may share a module.
    if (![...entries.values()].includes(file)) entries.set(path, file);
  }
  const start = entries.get(START);
  if (start) for (const name of loadedWith(start, files)) first.add(name);
  for (const name of files.keys()) if (BASE.test(name)) first.add(name);
  found.push({ name: "first view", bytes: size(first), max: FIRST_VIEW_MAX });
  found.push({ name: "app.css", bytes: size(["app.css"]), max: STYLE_MAX });
  for (const [path, file] of entries) {
    const others = new Set([...first, ...entries.values()]);
    others.delete(file);
    const needed = [...neededBy(file, files, others)].filter((name) => !first.has(name));
    found.push({ name: path, bytes: size(needed), max: AREAS_MAX[path] ?? AREA_MAX });
  }
  found.push({ name: "everything", bytes: size(files.keys()), max: EVERYTHING_MAX });
  return found;
}

async function main(folder) {
  const names = (await readdir(folder)).filter((name) => !PICTURES.test(name));
  const files = new Map();
  for (const name of names) files.set(name, await readFile(join(folder, name)));
  const areas = areasOf(await readFile(join(here, "src/areas.ts"), "utf8"));
  for (const { name, bytes, max } of rows(files, areas)) {
    const isOver = bytes > max;
    console.log(`${name.padEnd(12)} ${String(bytes).padStart(7)} of ${String(max).padStart(7)} bytes${isOver ? "  TOO LARGE" : ""}`);
    if (isOver) process.exitCode = 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv[2] ?? join(here, "dist"));
