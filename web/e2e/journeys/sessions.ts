import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** Two browsers are logged in as the same user; the first one lists both, and logs the second one out. */
export const sessions: Journey = {
  name: "sessions",
  isSmoke: true,
  logsIn: true,
  run: async (visit) => {
    const { page, site, variant } = visit;
    await visit.open("settings");
    await visit.logIn();
    const other = await visit.openOther();
    const headers = { origin: new URL(site.root).origin, referer: `${site.root}-/` };
    const login = await other.request.post(`${site.root}-/api/session`, { data: { name: site.user, password: site.password }, headers });
    assert.equal(login.status(), 200);
    const status = async () => (await other.request.get(`${site.root}-/api/sessions`)).status();
    assert.equal(await status(), 200);
    await visit.open("settings");
    const list = visit.role("list", text(variant, "settings.sessions"));
    await list.getByText(text(variant, "settings.sessionPresent")).waitFor();
    await visit.check("sessions");
    // Earlier visits left sessions of their own: the newest is that of the other browser.
    const ends = list.getByRole("button", { name: text(variant, "settings.logOut") });
    for (let count = await ends.count(); count > 0; count -= 1) {
      await ends.first().click();
      await page.waitForFunction((left) => document.querySelectorAll(".sessions button").length < left, count);
    }
    assert.equal(await status(), 401, "the session of the other browser has ended");
    await list.getByText(text(variant, "settings.sessionPresent")).waitFor();
    await other.context().close();
  },
};
