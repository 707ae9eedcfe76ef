import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { ALBUMS, HOSTILE } from "../music.ts";

/** Part of the title's words, by which its row is found. */
const WORDS = "very long title";

/** A title of 4 kB with markup and a mark of direction is shown and played as text, and moves nothing. */
export const hostile: Journey = {
  name: "hostile",
  isSmoke: true,
  logsIn: false,
  run: async (visit) => {
    const { page, variant } = visit;
    const album = ALBUMS.find(({ tracks }) => tracks.includes(HOSTILE));
    assert.ok(album);
    await visit.open("music/albums");
    await page.getByRole("link", { name: album.title }).first().click();
    const heading = page.getByRole("heading", { name: album.title, level: 1 });
    await heading.waitFor();
    const row = page.getByRole("main").getByText(WORDS).first();
    await row.waitFor();
    assert.ok((await row.textContent())?.includes("<img src=x"), "the markup is text");
    // The mark reverses only the title itself: the element isolates it from what follows.
    assert.ok(await row.evaluate((it) => it.closest("bdi, [dir=auto]") !== null), "the title is isolated");
    await visit.check("hostile-album");
    await page.getByRole("main").getByRole("button", { name: WORDS }).first().click();
    const player = visit.role("region", text(variant, "music.player"));
    await player.getByText(WORDS).first().waitFor();
    await visit.check("hostile-player");
    assert.notEqual(await page.title(), "run");
    assert.equal(await page.locator("img[src=x]").count(), 0);
  },
};
