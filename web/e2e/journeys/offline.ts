import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** The page opens without a connection, says that there is none, and recovers. */
export const offline: Journey = {
  name: "offline",
  isSmoke: true,
  logsIn: false,
  run: async (visit) => {
    const { context, page, variant } = visit;
    await visit.open("photos");
    await page.locator(".tile.ready").first().waitFor();
    // The service worker sees requests from the next document on.
    await page.evaluate(async () => {
      await navigator.serviceWorker.ready;
      if (!navigator.serviceWorker.controller) {
        await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
      }
    });
    await page.reload();
    await visit.ready();
    visit.expectFailures(/./);
    await context.setOffline(true);
    await page.reload();
    const sign = page.getByRole("status").getByText(text(variant, "error.offline"));
    await sign.waitFor();
    assert.ok((await page.getByRole("navigation").first().getByRole("link").count()) > 2, "the areas are shown");
    await visit.check("offline");
    await context.setOffline(false);
    await page.locator(".tile.ready").first().waitFor();
    await sign.waitFor({ state: "detached" });
  },
};
