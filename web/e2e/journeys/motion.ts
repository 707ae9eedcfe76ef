import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** The video of a motion photo: a button and a key play it, and so does a press that lasts. */
export const motion: Journey = {
  name: "motion",
  isSmoke: true,
  logsIn: false,
  run: async (visit) => {
    const { page, variant } = visit;
    await visit.open("photos");
    // The search happens while the person types.
    await page.locator(".search input").pressSequentially("motion", { delay: 30 });
    await page.waitForURL(/photos\/search\?q=motion/);
    await page.locator(".tile.ready a").click();
    const button = visit.role("button", text(variant, "viewer.motion"));
    await button.waitFor();
    await page.locator(".viewer .stage img").first().waitFor();
    await visit.check("motion");
    const isPlaying = () => page.waitForFunction(() => (document.querySelector("video")?.currentTime ?? 0) > 0);
    await button.click();
    await isPlaying();
    // The button comes back when the video has ended.
    await button.waitFor();
    await page.keyboard.press("v");
    await isPlaying();
    await button.waitFor();
    const stage = await page.locator(".viewer .stage").boundingBox();
    assert.ok(stage);
    await page.mouse.move(stage.x + stage.width / 2, stage.y + stage.height / 2);
    await page.mouse.down();
    await page.waitForTimeout(600);
    assert.equal(await page.locator("video").count(), 0, "who wants no motion gets none from a press");
    await page.mouse.up();
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await page.mouse.down();
    await isPlaying();
    await page.mouse.up();
    await button.waitFor();
    assert.equal(await page.locator(".viewer.bare").count(), 0, "the press is no tap");
  },
};
