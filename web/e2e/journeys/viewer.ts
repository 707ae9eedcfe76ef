import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { Finger } from "../touch.ts";
import { chooseInViewer, isNarrow } from "../viewer.ts";
import type { Visit } from "../visit.ts";

/** Names of two panoramas of 2400 × 800 pixels. */
const [FIRST, SECOND] = ["IMG_1005", "IMG_1011"] as const;
/** Widths that the viewer requests of a panorama, by the width of the window: fitted, and zoomed in. */
const WIDTHS: Readonly<Record<number, readonly [fitted: number, zoomed: number]>> = { 390: [960, 1600], 820: [960, 2560], 1400: [1600, 2560] };
/** Turn of the wheel by a notch, in pixels. */
const NOTCH = 100;
/** Time for which the slide show shows a picture, in milliseconds. */
const SLIDE_MS = 5000;

/** Viewer of single pictures: zoom, turning, details, favourites, slide show, and full screen. */
export const viewer: Journey = {
  name: "viewer",
  isSmoke: false,
  // The journey changes favourites.
  logsIn: true,
  run: async (visit) => {
    await visit.logIn();
    await wheel(visit);
    await turns(visit);
    await details(visit);
    await favourite(visit);
    await doubleTap(visit);
    await slideShow(visit);
    await fullScreen(visit);
  },
};

/** Opens the viewer with the picture that has this name, and returns its id. */
async function open(visit: Visit, name: string): Promise<string> {
  const { page } = visit;
  await visit.open(`photos/search?q=${name}`);
  const link = page.locator(".tile a");
  await link.waitFor();
  const id = (await link.getAttribute("href"))?.split(/[/?]/).find((it) => it.startsWith("ph-")) ?? "";
  await visit.open(`photos/${id}`);
  return id;
}

/** Waits until the viewer shows a variant of this width. */
async function shows(visit: Visit, name: string, width: number): Promise<void> {
  await visit.page.waitForFunction(
    (part) => [...document.querySelectorAll<HTMLImageElement>(".stage img")].some((it) => it.complete && it.currentSrc.endsWith(part)),
    `${name}.jpg?w=${width}`,
  );
}

/** Returns the part of the picture, from 0 to 1, that is shown at a position of the window. */
async function partAt(visit: Visit, x: number): Promise<number> {
  const box = await visit.page.locator(".slide-frame").first().boundingBox();
  assert.ok(box);
  return (x - box.x) / box.width;
}

async function wheel(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  const [fitted, zoomed] = WIDTHS[variant.width] ?? [0, 0];
  const requested: number[] = [];
  page.on("request", (request) => {
    const width = new RegExp(`${FIRST}\\.jpg\\?w=(\\d+)$`).exec(request.url())?.[1];
    if (width) requested.push(Number(width));
  });
  await open(visit, FIRST);
  await shows(visit, FIRST, fitted);
  assert.deepEqual([...new Set(requested)].filter((it) => it > 8), [fitted]);
  const x = variant.width / 4;
  await page.mouse.move(x, 450);
  const before = await partAt(visit, x);
  for (let notch = 0; notch < 6; notch += 1) await page.mouse.wheel(0, -NOTCH);
  await shows(visit, FIRST, zoomed);
  assert.equal(Math.max(...requested), zoomed);
  const after = await partAt(visit, x);
  assert.ok(Math.abs(after - before) < 0.01, `the part below the pointer stays there: ${before} and ${after}`);
  await visit.check("viewer-zoomed");
  await page.keyboard.press("0");
}

/** Turns to the next picture and back, by keys and, on phones, by swipes. */
async function turns(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  const isRtl = variant.locale === "ar";
  const first = page.url();
  const [next, previous] = isRtl ? ["ArrowLeft", "ArrowRight"] as const : ["ArrowRight", "ArrowLeft"] as const;
  const isThere = () => page.waitForFunction(() => document.querySelectorAll(".stage > .slide").length === 3);
  await isThere();
  await page.keyboard.press(next);
  await page.waitForURL((url) => url.href !== first);
  const second = page.url();
  await isThere();
  await page.keyboard.press(previous);
  await page.waitForURL(first);
  if (!isNarrow(visit)) return;
  await isThere();
  const finger = await Finger.on(page);
  const [left, right] = [{ x: 60, y: 420 }, { x: 330, y: 420 }];
  await (isRtl ? finger.drag(left, right) : finger.drag(right, left));
  await page.waitForURL(second);
  await isThere();
  await (isRtl ? finger.drag(right, left) : finger.drag(left, right));
  await page.waitForURL(first);
}

async function details(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  await visit.role("button", text(variant, "viewer.info")).click();
  const panel = visit.role("complementary", text(variant, "viewer.info"));
  await panel.getByText("Apple iPhone 15").waitFor();
  await panel.getByText(`${FIRST}.jpg`).waitFor();
  await panel.getByText(/2400 × 800/).waitFor();
  await visit.check("viewer-info");
  await page.keyboard.press("i");
  await panel.waitFor({ state: "detached" });
}

async function favourite(visit: Visit): Promise<void> {
  const { page, variant, site } = visit;
  const [add, remove] = [visit.role("button", text(variant, "photos.favourite")), visit.role("button", text(variant, "photos.unfavourite"))];
  await add.click();
  await remove.waitFor();
  const viewed = page.url();
  await visit.open("photos?favourites=1");
  const tile = page.locator(".tile a");
  await tile.waitFor();
  assert.equal(await tile.count(), 1);
  assert.match((await tile.getAttribute("aria-label")) ?? "", new RegExp(FIRST));
  await visit.check("viewer-favourites");
  await visit.open(viewed.slice(site.root.length + 2));
  await remove.click();
  await add.waitFor();
}

async function doubleTap(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  const [fitted, zoomed] = WIDTHS[variant.width] ?? [0, 0];
  await open(visit, SECOND);
  await shows(visit, SECOND, fitted);
  const larger = page.waitForRequest((request) => request.url().endsWith(`${SECOND}.jpg?w=${zoomed}`));
  await (await Finger.on(page)).doubleTap({ x: variant.width / 2, y: 450 });
  await larger;
  await shows(visit, SECOND, zoomed);
  await page.keyboard.press("z");
}

async function slideShow(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  const first = page.url();
  const isBarShown = (opacity: string) =>
    page.waitForFunction((wanted) => getComputedStyle(document.querySelector(".viewer-bar") as Element).opacity === wanted, opacity);
  await page.waitForFunction(() => document.querySelectorAll(".stage > .slide").length === 3);
  await page.clock.install();
  if (isNarrow(visit)) {
    await visit.role("button", text(variant, "viewer.more")).click();
    await page.getByRole("menu").waitFor();
    await visit.check("viewer-menu");
    await visit.role("menuitem", text(variant, "viewer.play")).click();
  } else {
    await chooseInViewer(visit, "viewer.play");
    await page.mouse.move(variant.width / 2, 450);
  }
  await isBarShown("0");
  await page.clock.fastForward(SLIDE_MS);
  await page.waitForURL((url) => url.href !== first);
  if (isNarrow(visit)) await page.touchscreen.tap(variant.width / 2, 450);
  else await page.keyboard.press("s");
  await isBarShown("1");
}

async function fullScreen(visit: Visit): Promise<void> {
  const { page } = visit;
  const isFull = (isWanted: boolean) =>
    page.waitForFunction((wanted) => (document.fullscreenElement?.matches(".viewer") ?? false) === wanted, isWanted);
  await chooseInViewer(visit, "viewer.full");
  await isFull(true);
  await page.keyboard.press("F");
  await isFull(false);
}
