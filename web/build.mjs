// Bundles the page into `dist`, or into the folder after `--out`: JavaScript modules, one style
// sheet, the shell and static files.
//
// Names carry no hash, so that changes of `dist` stay readable: the server serves the folder
// below a path that contains a hash of all files.

import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { build, context } from "esbuild";

import { smallPlot } from "./small-plot.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const watch = process.argv.includes("--watch");
const out = process.argv.indexOf("--out");
const dist = out === -1 ? join(here, "dist") : resolve(process.argv[out + 1]);

/** Folder of the messages: a folder per part of the catalogue, with a file per language. */
const TEXTS = "src/i18n";
/** Files that the server sends as they are. */
const STATIC = "static";

/** Makes a file of messages one object, without an export per message. */
const messages = {
  name: "messages",
  setup: ({ onLoad }) => onLoad({ filter: /\/i18n\/.*\.json$/ }, async ({ path }) => ({ contents: `export default ${await readFile(path, "utf8")}` })),
};

const options = {
  absWorkingDir: here,
  entryPoints: [
    { in: "src/app.tsx", out: "app" },
    { in: "src/app.css", out: "app" },
    // The shell names it, so that it loads beside `app`.
    { in: "src/photos/photos.tsx", out: "photos" },
    // The shell names the first ones in the browser's language.
    ...(await readdir(join(here, TEXTS), { recursive: true }))
      .filter((path) => path.endsWith(".json"))
      .map((path) => ({ in: `${TEXTS}/${path}`, out: path.replace("/", "-").replace(".json", "") })),
    // The page of a share is not part of the application.
    { in: "src/share/visitor.ts", out: "share" },
    { in: "src/share/visitor.css", out: "share" },
    { in: "src/service-worker.ts", out: "service-worker" },
  ],
  outdir: dist,
  bundle: true,
  splitting: true,
  // The packages may be a link to a cache. Names of chunks depend on paths, which must not.
  preserveSymlinks: true,
  format: "esm",
  chunkNames: "[name]-[hash]",
  jsx: "automatic",
  jsxImportSource: "preact",
  target: "es2022",
  minify: !watch,
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
  plugins: [messages, smallPlot],
};

async function copyStatic() {
  await cp(join(here, STATIC), dist, { recursive: true });
}

if (watch) {
  await mkdir(dist, { recursive: true });
  await copyStatic();
  const watching = await context(options);
  await watching.watch();
  console.error("watching src; the server reads dist with --page-dir web/dist");
} else {
  await rm(dist, { recursive: true, force: true });
  const result = await build(options);
  await copyStatic();
  await licences(result.metafile);
  const files = (await readdir(dist)).sort();
  console.error(`dist: ${files.join(" ")}`);
}

/** Writes the names and versions of the packages that the bundles contain. */
async function licences(metafile) {
  const names = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const found = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/);
    if (found) names.add(found[1]);
  }
  const lines = [];
  for (const name of [...names].sort()) {
    const text = await readFile(join(here, "node_modules", name, "package.json"), "utf8");
    const { version, license } = JSON.parse(text);
    lines.push(`${name} ${version} ${license}`);
  }
  await writeFile(join(dist, "licences.txt"), lines.join("\n") + "\n");
}
