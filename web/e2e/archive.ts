// Archive of 100,000 small photographs, so that every journey happens in a large library. All are
// older than the pictures of `pictures.ts`.

import { access, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Browser } from "playwright-core";

import { withExif } from "./exif.ts";
import { drawn } from "./pictures.ts";

const PHOTOS = 100_000;
/** First and last year in which photographs were taken. */
const FIRST_YEAR = 1995;
const LAST_YEAR = 2019;
/** Sizes in pixels. */
const SIZES: readonly (readonly [number, number])[] = [[180, 120], [160, 120], [120, 160], [120, 120], [192, 108]];
/** Number of different drawings, each of which is the content of many files. */
const DRAWINGS = 50;
/** Number of files that are written at a time. */
const AT_ONCE = 64;

const MONTHS = 12 * (LAST_YEAR - FIRST_YEAR + 1);

/** Writes the folder `archive` of `library`, if it is missing. */
export async function writeArchive(browser: Browser, library: string): Promise<void> {
  const folder = join(library, "archive");
  if (await access(folder).then(() => true, () => false)) return;
  const partial = join(library, ".archive.partial");
  await rm(partial, { recursive: true, force: true });
  const drawings = await draw(browser);
  for (let month = 0; month < MONTHS; month += 1) await mkdir(join(partial, folderOf(month)), { recursive: true });
  for (let start = 0; start < PHOTOS; start += AT_ONCE) {
    const count = Math.min(AT_ONCE, PHOTOS - start);
    await Promise.all(Array.from({ length: count }, (_, offset) => write(partial, drawings, start + offset)));
  }
  await rename(partial, folder);
}

async function draw(browser: Browser): Promise<Buffer[]> {
  const page = await browser.newPage();
  const drawings: Buffer[] = [];
  for (let index = 0; index < DRAWINGS; index += 1) {
    const [width, height] = SIZES[index % SIZES.length] as readonly [number, number];
    drawings.push(await drawn(page, { index, width, height, type: "image/jpeg" }));
  }
  await page.close();
  return drawings;
}

/** Writes one photograph. Its time of capture makes its content unique. */
async function write(folder: string, drawings: readonly Buffer[], index: number): Promise<void> {
  const month = index % MONTHS;
  const minute = Math.floor(index / MONTHS);
  const drawing = drawings[(7 * minute + month) % DRAWINGS] as Buffer;
  const [hours, day] = [pad(Math.floor(minute / 60) % 24), pad(1 + (minute % 28))];
  const taken = `${folderOf(month).replace("/", ":")}:${day} ${hours}:${pad(minute % 60)}:${pad(index % 60)}`;
  const jpeg = withExif(drawing, { make: "NIKON", model: "E950", taken });
  await writeFile(join(folder, folderOf(month), `DSCN${String(minute).padStart(4, "0")}.jpg`), jpeg);
}

/** Returns the folder of a month, counted from the first, such as `1995/01`. */
function folderOf(month: number): string {
  return `${FIRST_YEAR + Math.floor(month / 12)}/${pad(1 + (month % 12))}`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
