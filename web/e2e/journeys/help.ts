import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** List of keyboard commands: opened and closed without a mouse. */
export const help: Journey = {
  name: "help",
  isSmoke: true,
  logsIn: false,
  run: async (visit) => {
    const { page, variant } = visit;
    await visit.open("settings");
    const link = page.getByRole("banner").getByRole("link", { name: text(variant, "nav.settings") });
    await link.focus();
    await page.keyboard.press("?");
    const dialog = visit.role("dialog", text(variant, "help.title"));
    await dialog.waitFor();
    await dialog.getByText(text(variant, "keys.help"), { exact: true }).waitFor();
    await visit.check("help");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.ok(await link.evaluate((element) => element === document.activeElement), "the focus returns");
    await page.keyboard.press("?");
    await visit.role("button", text(variant, "close")).click();
    await dialog.waitFor({ state: "detached" });
  },
};
