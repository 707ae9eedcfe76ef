// A viewer of another origin, OpenSeadragon, zooms into a picture through the IIIF Image API.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import type { Browser, Page } from "playwright-core";

import { watchOrigins } from "./visit.ts";

/** Picture of the library, of 1200 × 900 pixels, as an identifier. */
const IDENTIFIER = "photos%2F2023%2Fmotion.jpg";

const PAGE = `<!doctype html><meta charset="utf-8"><title>viewer</title><link rel="icon" href="data:,">
<style>html, body, #viewer { height: 100%; margin: 0; background: #f0f }</style>
<div id="viewer"></div><script src="openseadragon.js"></script>`;

/** Picture that is complete on the screen, whichever tiles it consists of. */
const IS_LOADED = "viewer.world.getItemCount() === 1 && viewer.world.getItemAt(0).getFullyLoaded()";

/** Share of the canvas's pixels that are drawn. It throws if the browser may not read the pixels. */
const DRAWN = `(() => {
  const { canvas } = viewer.drawer;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let drawn = 0;
  for (let at = 3; at < data.length; at += 4) if (data[at] === 255) drawn += 1;
  return drawn * 4 / data.length;
})()`;

/** Serves the viewer's page from an origin of its own. */
async function startViewer() {
  const script = await readFile(createRequire(import.meta.url).resolve("openseadragon"), "utf8");
  const server = createServer((request, response) => {
    const isScript = request.url === "/openseadragon.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : PAGE);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { root: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close };
}

/** Returns the factors by which the tiles of these URLs are reduced. */
function factors(urls: readonly string[]): number[] {
  const found = urls.flatMap((url) => {
    const [, region, width] = /\/(?:\d+,\d+,)?(\d+|full)(?:,\d+)?\/\^?(max|\d+),?\d*\/0\/default\.\w+$/.exec(url) ?? [];
    if (region === undefined || width === undefined) throw new Error(`${url} is not the URL of a tile`);
    const whole = region === "full" ? 1200 : Number(region);
    return width === "max" ? 1 : Math.round(whole / Number(width));
  });
  return [...new Set(found)].sort((a, b) => a - b);
}

/** Looks at the picture in the viewer, and returns the factors by which the tiles were reduced. */
async function look(page: Page, root: string): Promise<number[]> {
  const tiles: string[] = [];
  const failures: string[] = [];
  watchOrigins(page.context(), [new URL(root).origin, new URL(page.url()).origin], failures);
  page.on("pageerror", (error) => failures.push(error.message));
  page.on("console", (message) => message.type() === "error" && failures.push(message.text()));
  page.on("response", (response) => {
    const url = response.url();
    if (!url.includes("/-/iiif/")) return;
    if (response.status() !== 200) failures.push(`${response.status()} ${url}`);
    if (!url.endsWith("/info.json")) tiles.push(url);
  });
  const source = JSON.stringify(`${root}-/iiif/${IDENTIFIER}/info.json`);
  const canvas = 'crossOriginPolicy: "Anonymous", drawer: "canvas", showNavigationControl: false, immediateRender: true';
  const options = `{ id: "viewer", tileSources: ${source}, ${canvas} }`;
  await page.evaluate(`window.viewer = OpenSeadragon(${options}); undefined`);
  await page.waitForFunction(IS_LOADED);
  const first = factors(tiles);
  await page.evaluate("viewer.viewport.zoomTo(viewer.world.getItemAt(0).imageToViewportZoom(1), null, true); undefined");
  await page.waitForFunction("viewer.world.getItemAt(0).viewportToImageZoom(viewer.viewport.getZoom(true)) > 0.99");
  await page.waitForFunction(IS_LOADED);
  assert.ok((await page.evaluate<number>(DRAWN)) > 0.99, "the picture covers the viewer");
  const all = factors(tiles);
  assert.ok(first.length > 0 && !first.includes(1), `the first view needs no tile of full size: ${first}`);
  assert.ok(all.includes(1), `the zoom shows tiles of full size: ${all}`);
  assert.deepEqual(failures, []);
  return all;
}

/** Zooms into a picture in a small window until tiles of full size are shown. @throws Error if a tile is missing */
export async function deepZoom(browser: Browser, root: string, artifacts: string): Promise<string> {
  const viewer = await startViewer();
  const context = await browser.newContext({ viewport: { width: 240, height: 180 } });
  try {
    const page = await context.newPage();
    await page.goto(viewer.root);
    const found = await look(page, root);
    await page.screenshot({ path: join(artifacts, "zoom.png") });
    return `tiles reduced by ${found.join(", ")}`;
  } finally {
    await context.close();
    viewer.close();
  }
}
