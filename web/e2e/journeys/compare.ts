import assert from "node:assert/strict";

import { setTimeout } from "node:timers/promises";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { chooseInViewer } from "../viewer.ts";

/** Delay of the comparison's response, in milliseconds. */
const LATE_MS = 1000;
/** Score of a variant, as the page shows it in each language. */
const SCORE = /^SSIMULACRA2 \d/;

/** Comparison of a picture with its original: both pictures, the slider, and the figures. */
export const compare: Journey = {
  name: "compare",
  isSmoke: true,
  logsIn: false,
  run: async (visit) => {
    const { page, variant } = visit;
    // A late response must not move the pictures. The browser does not count movements within half
    // a second after a click.
    await page.route("**/compare?*", async (route) => {
      await setTimeout(LATE_MS);
      await route.continue();
    });
    await visit.open("photos");
    await page.locator(".tile:not(.failed) a").first().click();
    await chooseInViewer(visit, "compare.open");
    const figures = page.locator(".compare-facts dl");
    await figures.getByText(SCORE).waitFor();
    const slider = visit.role("slider", text(variant, "compare.slider"));
    await slider.focus();
    const sent = page.locator(".compare-sent");
    const before = await sent.evaluate((element) => getComputedStyle(element).clipPath);
    await page.keyboard.press("End");
    const after = await sent.evaluate((element) => getComputedStyle(element).clipPath);
    assert.notEqual(after, before, "the slider moves the border between the pictures");
    for (const picture of await page.locator(".compare-frame img").all()) {
      const width = await picture.evaluate((element) => (element as HTMLImageElement).naturalWidth);
      assert.ok(width > 0, "both pictures are decoded");
    }
    await slider.fill("50");
    await visit.check("compare");
    await page.keyboard.press("Escape");
    await figures.waitFor({ state: "detached" });
    await page.keyboard.press("c");
    await figures.getByText(SCORE).waitFor();
    await visit.role("button", text(variant, "compare.close")).click();
    await figures.waitFor({ state: "detached" });
    await page.locator(".viewer").waitFor();
  },
};
