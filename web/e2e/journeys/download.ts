import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import type { Download } from "playwright-core";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import type { Visit } from "../visit.ts";

/** Time within which a download starts, in milliseconds. */
const DOWNLOAD_MS = 60_000;

/** Downloads: the original of a picture, several pictures together, and a track. */
export const download: Journey = {
  name: "download",
  isSmoke: true,
  // The request for several files needs an Origin equal to the host, as changes do.
  logsIn: true,
  run: async (visit) => {
    await selection(visit);
    await original(visit);
    await track(visit);
  },
};

async function selection(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  await visit.open("photos");
  const tiles = page.locator(".tile.ready");
  await tiles.nth(1).waitFor();
  for (const index of [0, 1]) {
    await tiles.nth(index).getByRole("link").focus();
    await page.keyboard.press("x");
  }
  const button = visit.role("button", text(variant, "photos.download"));
  await button.waitFor();
  await visit.check("download-selected");
  const [name, bytes] = await downloaded(visit, () => button.click());
  assert.match(name, /\.zip$/);
  assert.equal(bytes.subarray(0, 4).toString("latin1"), "PK\x03\x04");
  // The directory at the end counts the files.
  assert.equal(bytes.readUInt16LE(bytes.length - 12), 2, "files in the archive");
}

async function original(visit: Visit): Promise<void> {
  const { page, variant, site } = visit;
  await visit.open("photos");
  const tile = page.locator(".tile.ready").first();
  await tile.waitFor();
  const id = (await tile.getByRole("link").getAttribute("href"))?.split("/").pop() ?? "";
  const picture = (await (await fetch(`${site.root}-/api/pictures/${id}`)).json()) as { name: string; bytes: number };
  await tile.click();
  const link = visit.role("link", text(variant, "viewer.original"));
  await link.waitFor();
  const [name, bytes] = await downloaded(visit, () => link.click());
  assert.equal(bytes.length, picture.bytes);
  assert.equal(bytes.readUInt16BE(0), 0xffd8, "it is the JPEG, not a variant");
  // The browser replaces characters that file systems forbid, and those that change the direction.
  const plain = (text: string) => text.replace(/[^a-z0-9]/gi, "").slice(-20);
  assert.equal(plain(name), plain(picture.name));
}

async function track(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  // Albums without a picture have no cover.
  visit.expectFailures(/\/-\/cover\//);
  await visit.open("music/tracks");
  await page.locator(".track:not([aria-hidden]) .icon-button").first().click();
  const item = page.getByRole("menuitem", { name: text(variant, "music.download") });
  const [name, bytes] = await downloaded(visit, () => item.click());
  assert.match(name, /\.(flac|mp3|ogg|opus|m4a)$/);
  assert.ok(bytes.length > 1000, `${bytes.length} bytes`);
}

/** Returns name and content of the file that the page downloads after `act`, in this or a new tab. */
export async function downloaded({ page, context }: Visit, act: () => Promise<void>): Promise<[string, Buffer]> {
  const started = new Promise<Download>((resolve, reject) => {
    page.once("download", resolve);
    context.once("page", (opened) => opened.once("download", resolve));
    setTimeout(() => reject(new Error(`no download within ${DOWNLOAD_MS / 1000} s`)), DOWNLOAD_MS).unref();
  });
  const [file] = await Promise.all([started, act()]);
  return [file.suggestedFilename(), await readFile(await file.path())];
}
