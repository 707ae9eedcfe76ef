// Pictures of a small library, drawn by the browser: the same names, sizes, times and colours in
// every run.

import { access, mkdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { Browser, Page } from "playwright-core";

import { withExif } from "./exif.ts";

const PICTURES = 60;
/** Sizes of the pictures in pixels: usual formats, a portrait, a square and a panorama. */
const SIZES: readonly (readonly [number, number])[] = [[1500, 1000], [1200, 900], [900, 1200], [1000, 1000], [1600, 900], [2400, 800]];
/** Names that must be shown as text: markup, emoji, two directions, and a long name. */
const NAMES = ["<img src=x onerror=alert(1)> & more", "🌅 sunrise", "صورة abc", "\u202egpj.evil", "long ".repeat(40).trim()];
/** Path of the damaged picture below the folder of all pictures. */
const DAMAGED = "2022/damaged.png";
/** Motion photo below the folder of all pictures. */
const MOTION = "2023/motion.jpg";
/** Folder with videos below the folder of all pictures. */
const VIDEOS = "2022/videos";
const CAMERAS = [["Canon", "EOS R6"], ["FUJIFILM", "X-T4"], ["Apple", "iPhone 15"]] as const;

/** Returns the folder `photos` of `library`, after drawing those of its pictures that are missing. */
export async function drawPictures(browser: Browser, library: string): Promise<string> {
  const folder = join(library, "photos");
  if (!(await exists(folder))) await drawAll(browser, library, folder);
  await drawDamaged(browser, join(folder, DAMAGED));
  await recordVideos(browser, join(folder, VIDEOS));
  await recordMotion(browser, join(folder, MOTION));
  return folder;
}

/** Records a short video, and writes another file that has the name of a video, but cannot be played. */
async function recordVideos(browser: Browser, folder: string): Promise<void> {
  if (await exists(folder)) return;
  const page = await browser.newPage();
  const video = Buffer.from(await page.evaluate(record, "video/webm"), "base64");
  await page.close();
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  await writeFile(join(partial, "a & b.webm"), video);
  await writeFile(join(partial, "broken.mp4"), "not a video");
  await rename(partial, folder);
}

/** Draws a motion photo in Google's first notation: its XMP says where the MP4 file behind the picture begins. */
async function recordMotion(browser: Browser, path: string): Promise<void> {
  if (await exists(path)) return;
  const page = await browser.newPage();
  const jpeg = await drawn(page, { index: 29, width: 1200, height: 900, type: "image/jpeg" });
  const video = Buffer.from(await page.evaluate(record, "video/mp4"), "base64");
  await page.close();
  const [make, model] = at(CAMERAS, 29);
  const xmp = `http://ns.adobe.com/xap/1.0/\0<x GCamera:MicroVideo="1" GCamera:MicroVideoOffset="${video.length}"/>`;
  const segment = Buffer.from(`\xff\xe1\0\0${xmp}`, "latin1");
  segment.writeUInt16BE(segment.length - 2, 2);
  const photo = withExif(jpeg, { make, model, taken: takenAt(29) });
  await writeFile(path, Buffer.concat([photo.subarray(0, 2), segment, photo.subarray(2), video]));
}

/** Records a canvas for half a second, and returns the file in base64. Runs in the browser. */
async function record(mimeType: string): Promise<string> {
  const canvas = document.createElement("canvas");
  canvas.width = 320;
  canvas.height = 180;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("the browser has no canvas");
  const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType });
  const parts: Blob[] = [];
  recorder.addEventListener("dataavailable", (event) => parts.push(event.data));
  const stopped = new Promise((resolve) => recorder.addEventListener("stop", resolve));
  recorder.start();
  for (let frame = 0; frame < 12; frame += 1) {
    context.fillStyle = `hsl(${frame * 30} 60% 50%)`;
    context.fillRect(0, 0, 320, 180);
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
  recorder.stop();
  await stopped;
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Draws a picture whose size can be read, but whose pixels cannot. It is the oldest of all. */
async function drawDamaged(browser: Browser, path: string): Promise<void> {
  if (await exists(path)) return;
  const page = await browser.newPage();
  const png = await drawn(page, { index: 0, width: 900, height: 600, type: "image/png" });
  await page.close();
  const pixels = png.indexOf("IDAT") + 4;
  png.fill(0, pixels, pixels + 64);
  await writeFile(path, png);
  await utimes(path, 0, 0);
}

async function drawAll(browser: Browser, library: string, folder: string): Promise<void> {
  const partial = join(library, ".photos.partial");
  await rm(partial, { recursive: true, force: true });
  const page = await browser.newPage();
  for (let index = 0; index < PICTURES; index += 1) {
    const [width, height] = at(SIZES, index);
    const jpeg = await drawn(page, { index, width, height, type: "image/jpeg" });
    const path = join(partial, `${yearOf(index)}`, `${NAMES[index] ?? `IMG_${1000 + index}`}.jpg`);
    const [make, model] = at(CAMERAS, index);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, withExif(jpeg, { make, model, taken: takenAt(index) }));
  }
  await writeFile(join(partial, "broken.jpg"), Buffer.from("\xff\xd8\xff\xe0not a picture", "latin1"));
  await page.close();
  await rename(partial, folder);
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

/** Properties of a picture to be drawn. The index determines its colours and lines. */
export interface Drawing {
  readonly index: number;
  readonly width: number;
  readonly height: number;
  readonly type: string;
}

/** Returns the file of a picture that `page` draws. */
export async function drawn(page: Page, drawing: Drawing): Promise<Buffer> {
  return Buffer.from(await page.evaluate(draw, drawing), "base64");
}

/** Draws a picture, and returns its file in base64. Runs in the browser. */
function draw({ index, width, height, type }: Drawing): string {
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
  return canvas.toDataURL(type, 0.85).split(",")[1] ?? "";
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false);
}
