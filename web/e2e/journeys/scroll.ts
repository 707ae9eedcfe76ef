import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";

/** Number of frames during which the journey scrolls. */
const FRAMES = 300;
/** Distance per frame, in window heights: about three windows per second at 60 frames per second. */
const STEP = 0.05;
/** Largest number of tiles in the document. */
const TILES_MAX = 600;
/** Interval of 60 frames per second, in milliseconds. */
const FRAME_MS = 1000 / 60;
/** Delay of the months at the end, in milliseconds. */
const LATE_MS = 300;
/** Part of the name of the oldest picture of the library. */
const OLDEST = "damaged";

/** Scrolls through 100,000 photographs, then jumps to the oldest and back. The remark has the frame times. */
export const scroll: Journey = {
  name: "scroll",
  isSmoke: true,
  logsIn: false,
  run: async (visit) => {
    const { page } = visit;
    // The oldest picture cannot be decoded.
    visit.expectFailures(/damaged/);
    await visit.open("photos");
    const first = page.locator(".tile.ready a").first();
    await first.waitFor();
    const newest = await first.getAttribute("aria-label");
    const { intervals, tiles, blank } = await page.evaluate(scrollSteadily, { frames: FRAMES, step: STEP });
    assert.ok(tiles <= TILES_MAX, `${tiles} tiles in the document`);
    assert.equal(blank, 0, "frames in which the middle of the window showed no section of the timeline");
    await page.locator(".tile.ready").first().waitFor();
    await visit.check("scroll-middle");
    // The end is where it was estimated until its months have been loaded.
    await page.route("**/api/timeline/*", (route) => setTimeout(() => void route.continue(), LATE_MS));
    await page.keyboard.press("End");
    const oldest = page.locator(".tile a").and(page.locator(`[aria-label*="${OLDEST}"]`));
    await oldest.waitFor();
    await page.waitForFunction(isWindowFull);
    await visit.check("scroll-oldest");
    await page.keyboard.press("Home");
    await page.waitForFunction((label) => document.querySelector(".tile.ready a")?.ariaLabel === label, newest);
    return remark(intervals);
  },
};

/** Returns whether every visible tile shows its picture, or that the picture is damaged. Runs in the page. */
function isWindowFull(): boolean {
  const visible = [...document.querySelectorAll(".tile")].filter((tile) => {
    const { top, bottom } = tile.getBoundingClientRect();
    return 0 <= bottom && top <= innerHeight;
  });
  return visible.length > 0 && visible.every((tile) => tile.matches(".ready, .failed"));
}

interface Steps {
  readonly frames: number;
  readonly step: number;
}

interface Scrolled {
  /** Times between frames, in milliseconds. */
  readonly intervals: readonly number[];
  /** Largest number of tiles that the document had. */
  readonly tiles: number;
  /** Number of frames in which the middle of the window was outside every section. */
  readonly blank: number;
}

/** Scrolls by a step per frame. Runs in the page. */
function scrollSteadily({ frames, step }: Steps): Promise<Scrolled> {
  const intervals: number[] = [];
  let [tiles, blank, before] = [0, 0, 0];
  return new Promise((resolve) => {
    const frame = (now: number) => {
      if (before > 0) intervals.push(now - before);
      before = now;
      tiles = Math.max(tiles, document.querySelectorAll(".tile").length);
      const middle = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
      if (!middle?.closest(".grid section")) blank += 1;
      if (intervals.length === frames) resolve({ intervals, tiles, blank });
      else {
        scrollBy(0, innerHeight * step);
        requestAnimationFrame(frame);
      }
    };
    requestAnimationFrame(frame);
  });
}

/** Returns a text with the median, the 99 % quantile and the maximum of the frame times. */
function remark(intervals: readonly number[]): string {
  const sorted = [...intervals].sort((a, b) => a - b);
  const quantile = (part: number) => (sorted[Math.ceil(part * sorted.length) - 1] ?? 0).toFixed(1);
  const late = sorted.filter((it) => it > 1.5 * FRAME_MS).length;
  return `${sorted.length} frames: median ${quantile(0.5)} ms, 99 % ${quantile(0.99)} ms, longest ${quantile(1)} ms, ${late} late`;
}
