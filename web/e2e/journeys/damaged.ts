import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** Picture that cannot be decoded: its tile and the viewer say so. */
export const damaged: Journey = {
  name: "damaged",
  isSmoke: true,
  logsIn: false,
  run: async (visit) => {
    const { page, variant } = visit;
    visit.expectFailures(/\/damaged\.png\?/);
    await visit.open("photos/search?q=damaged");
    const tile = page.locator(".tile.failed");
    await tile.waitFor();
    const link = tile.getByRole("link");
    const reason = (await link.getAttribute("title")) ?? "";
    assert.match(reason, /cannot be decoded/);
    await visit.check("damaged-tile");
    await link.click();
    const message = page.getByRole("alert");
    await message.getByText(text(variant, "viewer.failed")).waitFor();
    await message.getByText(reason, { exact: true }).waitFor();
    await visit.role("link", text(variant, "viewer.original")).waitFor();
    await visit.check("damaged-viewer");
    await page.keyboard.press("Escape");
    await tile.waitFor();
  },
};
