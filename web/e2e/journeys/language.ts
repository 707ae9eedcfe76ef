import assert from "node:assert/strict";

import { LANGUAGES } from "../../src/i18n/messages.ts";
import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** Change to every language at once, without a reload, which then keeps the last one. */
export const language: Journey = {
  name: "language",
  isSmoke: false,
  logsIn: false,
  run: async (visit) => {
    const { page, variant } = visit;
    await visit.open("settings");
    // Every catalogue has the same select element, whose label changes with the language.
    const select = page.locator("select").filter({ has: page.locator("option[lang]") });
    for (const locale of Object.keys(LANGUAGES)) {
      await select.selectOption(locale);
      const heading = visit.role("heading", text({ ...variant, locale }, "settings.appearance"));
      await heading.waitFor();
      const direction = await heading.evaluate((element) => getComputedStyle(element).direction);
      assert.equal(direction, locale === "ar" ? "rtl" : "ltr", locale);
      assert.equal(await page.locator("html").getAttribute("lang"), locale);
      await visit.check(`language-${locale}`);
    }
    await page.reload();
    await visit.ready();
    assert.equal(await select.inputValue(), Object.keys(LANGUAGES).at(-1));
  },
};
