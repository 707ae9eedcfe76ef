import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** Videos of a folder: a tile opens the video, which plays; another one cannot be played. */
export const videos: Journey = {
  name: "videos",
  isSmoke: true,
  logsIn: false,
  run: async (visit) => {
    const { page, variant } = visit;
    // The URL of the folder itself leads a browser to its view.
    await page.goto(`${visit.site.root}photos/2022/videos/`);
    await visit.ready();
    assert.match(page.url(), /-\/folders\/photos\/2022\/videos\/$/);
    const tile = page.getByRole("link", { name: "a & b.webm", exact: true });
    await tile.waitFor();
    assert.equal(await page.locator("video").count(), 0, "nothing is loaded before a video is opened");
    await visit.check("videos");
    await tile.focus();
    await page.keyboard.press("Enter");
    const video = page.locator("video");
    await video.waitFor();
    await page.waitForFunction(() => (document.querySelector("video")?.currentTime ?? 0) > 0);
    assert.ok(await video.evaluate((it: HTMLVideoElement) => it.videoWidth === 320 && it.videoHeight === 180));
    await visit.check("video");
    // With the focus on the video, an arrow key seeks; elsewhere it would show another video.
    await video.evaluate((it: HTMLVideoElement) => it.pause());
    await video.focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await video.getAttribute("aria-label"), "a & b.webm");
    visit.expectFailures(/broken\.mp4$/);
    await visit.role("button", text(variant, "viewer.nextVideo")).click();
    await page.getByRole("alert").getByText(text(variant, "viewer.videoFailed")).waitFor();
    const download = visit.role("link", text(variant, "viewer.original"));
    assert.match((await download.getAttribute("href")) ?? "", /2022\/videos\/broken\.mp4$/);
    await visit.check("video-failed");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement?.matches(".video-card"));
    await visit.open("folders/photos/2022/videos?video=missing.mp4");
    await page.getByRole("alert").getByText(text(variant, "viewer.videoGone")).waitFor();
    // A folder that fails to load can be loaded again, although the address names a video.
    visit.expectFailures(/api\/folders/);
    await page.route("**/api/folders?*", (route) => route.fulfill({ status: 500 }));
    await page.reload();
    const retry = visit.role("button", text(variant, "error.retry"));
    await retry.waitFor();
    await page.unroute("**/api/folders?*");
    await retry.click();
    await page.getByRole("alert").getByText(text(variant, "viewer.videoGone")).waitFor();
  },
};
