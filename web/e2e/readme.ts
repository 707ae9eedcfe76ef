// The pictures of README.md: `cargo xtask conform page readme`. Each is taken in light and in dark.

import { execFile } from "node:child_process";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import type { Browser } from "playwright-core";

import { text } from "./messages.ts";
import { ALBUMS, writeMusic } from "./music.ts";
import { drawPictures, drawn } from "./pictures.ts";
import { playAlbum } from "./player.ts";
import { USER, startServer } from "./server.ts";
import { type Variant, Visit } from "./visit.ts";

/** Folder of the pictures, from the folder `web`. */
const FOLDER = "../docs/pictures";
const WIDTH = 1200;
/** Size of a picture in bytes; the quality is the highest with which the picture does not exceed it. */
const BYTES_MAX = 65_000;
const QUALITIES = [95, 90, 85, 80, 75, 70, 60];
/** Photograph that is compared. */
const COMPARED = "IMG_1010";

const [ALBUM] = ALBUMS;

/** Takes all pictures of a server with a library of its own. Returns the names of the files. */
export async function takePictures(browser: Browser, program: string, library: string): Promise<string> {
  await mkdir(library, { recursive: true });
  await drawPictures(browser, library);
  await writeMusic(library);
  const page = await browser.newPage();
  for (const [index, { artist, title }] of ALBUMS.entries()) {
    const cover = await drawn(page, { index: 7 * index + 5, width: 800, height: 800, type: "image/jpeg" });
    await writeFile(join(library, "music", artist, title, "cover.jpg"), cover);
  }
  await page.close();
  const server = await startServer({ program, library });
  const site = { root: `http://127.0.0.1:${server.port}/`, ...USER };
  const taken: string[] = [];
  try {
    for (const scheme of ["light", "dark"] as const) {
      const variant: Variant = { name: `readme-${scheme}`, width: WIDTH, scheme, locale: "en", isProxied: false };
      const visit = await Visit.begin(browser, site, variant, library);
      const end = scheme === "dark" ? "-dark" : "";
      for (const [name, show] of Object.entries(VIEWS)) {
        await show(visit);
        taken.push(await take(visit, `${name}${end}.webp`));
      }
      await visit.end();
    }
  } finally {
    await server.stop();
  }
  return taken.join(", ");
}

/** Views in the order of the README. Each function opens its view and waits until it is complete. */
const VIEWS: Readonly<Record<string, (visit: Visit) => Promise<void>>> = {
  timeline: async (visit) => {
    await visit.open("photos");
    await visit.page.locator(".tile.ready").nth(8).waitFor();
    await visit.page.waitForLoadState("networkidle");
  },
  comparison: async (visit) => {
    const { page, variant } = visit;
    await visit.open(`photos/search?q=${COMPARED}`);
    await page.locator(".tile.ready a").first().click();
    await visit.role("button", text(variant, "compare.open")).click();
    await page.locator(".compare-facts dl").getByText(/^SSIMULACRA2 \d/).waitFor();
    await visit.role("slider", text(variant, "compare.slider")).fill("50");
  },
  player: async (visit) => {
    const { page, variant } = visit;
    if (!ALBUM) return;
    await playAlbum(visit, ALBUM);
    await page.keyboard.press("y");
    const panel = visit.role("complementary", text(variant, "music.lyrics"));
    await panel.locator("[aria-current=true]").waitFor();
    await page.waitForLoadState("networkidle");
  },
};

/** Stores a picture of the window. Returns its name and size. */
async function take({ page }: Visit, name: string): Promise<string> {
  const png = join(FOLDER, "window.png");
  const file = join(FOLDER, name);
  await page.screenshot({ path: png, animations: "disabled" });
  let bytes = 0;
  for (const quality of QUALITIES) {
    await promisify(execFile)("ffmpeg", ["-v", "error", "-y", "-i", png, "-c:v", "libwebp", "-quality", String(quality), "-compression_level", "6", file]);
    bytes = (await stat(file)).size;
    if (bytes <= BYTES_MAX) break;
  }
  await rm(png);
  if (bytes > BYTES_MAX) throw new Error(`${name} has ${bytes} bytes at the lowest quality`);
  return `${name} (${(bytes / 1000).toFixed(0)} kB)`;
}
