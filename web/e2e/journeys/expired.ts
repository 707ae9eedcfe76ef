import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** Files of the library and their variants, but not the API. */
const FILES = /\.jpg(\?|$)/;
const REFUSAL = { status: 401, contentType: "application/problem+json", body: JSON.stringify({ title: "log in" }) };

/** Session that ends while the timeline is open: the page asks for a login once, and then shows the pictures. */
export const expired: Journey = {
  name: "expired",
  isSmoke: true,
  logsIn: true,
  run: async (visit) => {
    const { page, variant, site } = visit;
    visit.expectFailures(FILES);
    await page.route(FILES, (route) => route.fulfill(REFUSAL));
    await visit.open("photos");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await visit.check("expired");
    await page.unroute(FILES);
    await dialog.getByLabel(text(variant, "login.name")).fill(site.user);
    await dialog.getByLabel(text(variant, "login.password")).fill(site.password);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await page.waitForFunction(() => document.querySelectorAll(".tile").length > 0 && !document.querySelector(".tile:not(.ready, .failed)"));
    await page.locator(".tile.ready").first().waitFor();
    await visit.check("expired-after");
  },
};
