import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test } from "node:test";

import { shrink } from "../small-plot.mjs";

test("uPlot loses the parts that the charts do not use, and keeps the others", async () => {
  const file = createRequire(import.meta.url).resolve("uplot/dist/uPlot.esm.js");
  const source = await readFile(file, "utf8");
  const small = shrink(source);
  for (const name of ["initLegendRow", "setSeries", "delBand"]) assert.ok(!small.includes(`function ${name}(`), name);
  for (const name of ["setScale", "setData", "updateCursor"]) assert.ok(small.includes(`function ${name}(`), name);
  // The same rules find nothing in what they have changed already.
  assert.throws(() => shrink(small), /uPlot has nothing like/);
});
