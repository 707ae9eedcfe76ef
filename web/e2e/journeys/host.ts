import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** Reads the doctor's report on the host, opens a row, copies its command, and reads the report again. */
export const host: Journey = {
  name: "host",
  isSmoke: true,
  logsIn: true,
  run: async (visit) => {
    const { page, variant } = visit;
    await visit.logIn();
    await visit.open("ops/host");
    const rows = page.locator(".host-group details");
    assert.ok((await rows.count()) > 30, "the report has all rows");
    // Findings are open, and everything else is not.
    const open = await page.locator(".host-group details[open]").count();
    const found = await page.locator(".host-group", { has: page.locator(".ops-key--danger, .ops-key--warn") }).locator("details").count();
    assert.equal(open, found);
    await visit.check("host");
    const row = rows.last();
    await row.locator("summary").click();
    await row.locator(".host-command").first().waitFor();
    await row.scrollIntoViewIfNeeded();
    await visit.check("host-row");
    await row.getByRole("button", { name: text(variant, "ops.copy", { name: text(variant, "ops.host.change") }) }).click();
    await page.locator(".toast").filter({ hasText: text(variant, "copied") }).waitFor();
    const again = page.waitForResponse((response) => response.url().endsWith("/-/api/doctor"));
    await visit.role("button", text(variant, "ops.host.again")).click();
    assert.equal((await again).status(), 200);
    await visit.ready();
  },
};
