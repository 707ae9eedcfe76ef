import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { ALBUMS, LYRICS } from "../music.ts";
import { playAlbum } from "../player.ts";

const [album] = ALBUMS;

/**
 * Lyrics: opened by key, left alone while the user scrolls, used to seek but not by the space bar,
 * and absent for the next track.
 */
export const lyrics: Journey = {
  name: "lyrics",
  isSmoke: true,
  logsIn: false,
  run: async (visit) => {
    const { page, variant } = visit;
    assert.ok(album);
    // The player is loaded with the first track, and its keys with it.
    const player = await playAlbum(visit, album);
    await page.keyboard.press("y");
    const panel = visit.role("complementary", text(variant, "music.lyrics"));
    const last = LYRICS.at(-1);
    assert.ok(last);
    const current = panel.locator("[aria-current=true]");
    await current.waitFor();
    await panel.locator(".lyrics").hover();
    await page.mouse.wheel(0, 5000);
    const scrolled = () => panel.locator(".scrolls").evaluate((it) => it.scrollTop);
    await page.waitForFunction(() => (document.querySelector(".queue-panel .scrolls")?.scrollTop ?? 0) > 300);
    const [before, sung] = [await scrolled(), await current.textContent()];
    await page.waitForFunction((text) => document.querySelector(".lyrics [aria-current=true]")?.textContent !== text, sung);
    assert.equal(await scrolled(), before);
    const first = panel.getByRole("button").nth(1);
    await first.focus();
    await page.keyboard.press(" ");
    await player.getByRole("button", { name: text(variant, "music.play"), exact: true }).first().waitFor();
    assert.notEqual(await current.textContent(), await first.textContent(), "the space bar does not seek");
    await panel.getByRole("button", { name: last.text, exact: true }).click();
    await panel.locator("[aria-current=true]", { hasText: last.text }).waitFor();
    await visit.check("lyrics");
    await page.keyboard.press(".");
    await panel.getByText(text(variant, "music.noLyrics")).waitFor();
    await page.keyboard.press("y");
    await panel.waitFor({ state: "detached" });
  },
};
