import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { ALBUMS, COMPOSER } from "../music.ts";

const [album] = ALBUMS;

/** Years and composers of the library, each with its albums. */
export const groups: Journey = {
  name: "groups",
  isSmoke: false,
  logsIn: false,
  run: async (visit) => {
    const { page, variant } = visit;
    assert.ok(album);
    const main = page.getByRole("main");
    const found = main.getByRole("link", { name: `${album.title} ${album.artist}` });
    await visit.open("music/years");
    await visit.check("years");
    // Years are written in the digits of the language.
    await main.locator(`.tiles a[href$="/music/years/${album.year}"]`).click();
    await visit.role("heading", String(album.year)).waitFor();
    await found.waitFor();
    await main.getByRole("link", { name: text(variant, "music.composers"), exact: true }).click();
    await main.getByRole("link", { name: COMPOSER }).click();
    await visit.role("heading", COMPOSER).waitFor();
    await found.waitFor();
    for (const other of ALBUMS.slice(1)) await main.getByRole("link", { name: `${other.title} ${other.artist}` }).waitFor();
    await visit.check("composer");
  },
};
