import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** Records a profile and looks at its functions. Where the host permits no profile, the page says so. */
export const profile: Journey = {
  name: "profile",
  isSmoke: true,
  logsIn: true,
  run: async (visit) => {
    const { page, variant } = visit;
    await visit.logIn();
    visit.expectFailures(/-\/profile/);
    await visit.open("ops/profile");
    const record = visit.role("button", text(variant, "ops.profile.record"));
    await page.getByRole("combobox").first().selectOption("5");
    const recorded = page.waitForResponse((response) => response.url().includes("/-/profile?"));
    await record.click();
    await page.getByRole("progressbar").waitFor();
    assert.ok(await record.isDisabled());
    await visit.check("profile-recording");
    // Requests keep the server busy while samples are taken.
    let isComplete = false;
    const requests = async () => {
      while (!isComplete) await page.request.get(`${visit.site.root}-/api/timeline`);
    };
    const busy = requests();
    const response = await recorded.finally(() => (isComplete = true));
    await busy;
    const status = response.status();
    if (status === 503) {
      await page.getByRole("alert").filter({ hasText: text(variant, "ops.profile.refused") }).waitFor();
      await visit.check("profile-refused");
      return "the host permits no profile";
    }
    assert.equal(status, 200);
    const graph = page.locator(".flame");
    await graph.locator("[title=server]").first().click();
    await page.locator(".flame-bar code", { hasText: "server" }).waitFor();
    await visit.check("profile");
    await graph.press("ArrowDown");
    await graph.press("Enter");
    await page.locator(".flame .selected").waitFor();
    const whole = visit.role("button", text(variant, "ops.profile.whole"));
    await visit.check("profile-enlarged");
    await whole.click();
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "pelton.pb.gz" }).click();
    assert.equal((await download).suggestedFilename(), "pelton.pb.gz");
    // The last profile is still there after the page was left.
    await visit.open("ops");
    await visit.open("ops/profile");
    await graph.locator("[title=server]").first().waitFor();
    return;
  },
};
