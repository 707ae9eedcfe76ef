import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** Choice of a colour scheme, which a reload keeps. */
export const settings: Journey = {
  name: "settings",
  isSmoke: true,
  logsIn: false,
  run: async (visit) => {
    const { page, variant } = visit;
    await visit.open("settings");
    await visit.check("settings");
    const colours = visit.role("combobox", text(variant, "settings.scheme"));
    const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const before = await background();
    const opposite = variant.scheme === "light" ? "dark" : "light";
    await colours.selectOption(opposite);
    const after = await background();
    assert.notEqual(after, before);
    await page.reload();
    await visit.ready();
    assert.equal(await background(), after);
    assert.equal(await colours.inputValue(), opposite);
    await visit.check("settings-chosen");
  },
};
