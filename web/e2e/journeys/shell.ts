import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** Frame around all views: landmarks, direction, skip link, search by keyboard, unknown views. */
export const shell: Journey = {
  name: "shell",
  isSmoke: true,
  logsIn: false,
  run: async (visit) => {
    const { page, variant } = visit;
    await visit.open("settings");
    for (const landmark of ["navigation", "banner", "main"] as const) {
      assert.equal(await page.getByRole(landmark).count(), 1, landmark);
    }
    const root = page.locator("html");
    assert.equal(await root.getAttribute("lang"), variant.locale);
    const direction = await root.evaluate((element) => getComputedStyle(element).direction);
    assert.equal(direction, variant.locale === "ar" ? "rtl" : "ltr");
    await page.keyboard.press("Tab");
    const skip = visit.role("link", text(variant, "skip"));
    assert.ok(await skip.evaluate((element) => element === document.activeElement), "the first link skips the navigation");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("type")), "search");
    await visit.open("settings/no-such-view");
    await visit.check("shell");
    // A link to nothing is answered with a page, which leads back.
    visit.expectFailures(/nowhere/);
    const response = await page.goto(`${visit.site.root}-/nowhere`);
    assert.equal(response?.status(), 404);
    await visit.check("nowhere");
    await page.getByRole("link").click();
    await page.waitForURL(`${visit.site.root}-/`);
  },
};
