// Pictures of a small library, drawn by the browser: the same names, sizes, times and colours in
// every run.

import { access, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { Browser } from "playwright-core";

import { withExif } from "./exif.ts";

const PICTURES = 60;
/** Sizes of the pictures in pixels: usual formats, a portrait, a square and a panorama. */
const SIZES: readonly (readonly [number, number])[] = [[1500, 1000], [1200, 900], [900, 1200], [1000, 1000], [1600, 900], [2400, 800]];
/** Names that must be shown as text: markup, emoji, two directions, and a long name. */
const NAMES = ["<img src=x onerror=alert(1)> & more", "🌅 sunrise", "صورة abc", "\u202egpj.evil", "long ".repeat(40).trim()];
const CAMERAS = [["Canon", "EOS R6"], ["FUJIFILM", "X-T4"], ["Apple", "iPhone 15"]] as const;

/** Returns the folder `photos` of `library`, after drawing its pictures if it is missing. */
export async function drawPictures(browser: Browser, library: string): Promise<string> {
  const folder = join(library, "photos");
  if (await exists(folder)) return folder;
  const partial = join(library, ".photos.partial");
  await rm(partial, { recursive: true, force: true });
  const page = await browser.newPage();
  for (let index = 0; index < PICTURES; index += 1) {
    const [width, height] = at(SIZES, index);
    const jpeg = Buffer.from(await page.evaluate(draw, { index, width, height }), "base64");
    const path = join(partial, `${yearOf(index)}`, `${NAMES[index] ?? `IMG_${1000 + index}`}.jpg`);
    const [make, model] = at(CAMERAS, index);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, withExif(jpeg, { make, model, taken: takenAt(index) }));
  }
  await writeFile(join(partial, "broken.jpg"), Buffer.from("\xff\xd8\xff\xe0not a picture", "latin1"));
  await page.close();
  await rename(partial, folder);
  return folder;
}

function at<T>(list: readonly T[], index: number): T {
  return list[index % list.length] as T;
}

function yearOf(index: number): number {
  return 2024 - Math.floor(index / 20);
}

/** Returns the time of capture of a picture, in the notation of Exif. */
function takenAt(index: number): string {
  const pad = (value: number) => String(value).padStart(2, "0");
  const [month, day] = [12 - (Math.floor(index / 4) % 12), 1 + ((index * 7) % 28)];
  return `${yearOf(index)}:${pad(month)}:${pad(day)} ${pad(index % 24)}:${pad((index * 13) % 60)}:00`;
}

/** Draws a picture, and returns it as JPEG in base64. Runs in the browser. */
function draw({ index, width, height }: { index: number; width: number; height: number }): string {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("the browser has no canvas");
  const hue = (index * 47) % 360;
  const sky = context.createLinearGradient(0, 0, 0, height);
  sky.addColorStop(0, `hsl(${hue} 60% 70%)`);
  sky.addColorStop(1, `hsl(${(hue + 60) % 360} 50% 35%)`);
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  for (let layer = 0; layer < 4; layer += 1) {
    context.fillStyle = `hsl(${(hue + 20 * layer) % 360} 35% ${40 - 8 * layer}%)`;
    context.beginPath();
    context.moveTo(0, height);
    for (let x = 0; x <= width; x += 8) {
      const wave = Math.sin(x / (60 + 30 * layer) + index) + Math.sin(x / (23 + layer) + 2 * index) / 3;
      context.lineTo(x, height * (0.5 + 0.12 * layer) + wave * height * 0.05);
    }
    context.lineTo(width, height);
    context.fill();
  }
  return canvas.toDataURL("image/jpeg", 0.85).split(",")[1] ?? "";
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false);
}
