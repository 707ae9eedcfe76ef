import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** Login with a wrong and with the right password, and logout. */
export const login: Journey = {
  name: "login",
  isSmoke: true,
  logsIn: true,
  run: async (visit) => {
    const { page, site, variant } = visit;
    await visit.open("settings");
    const opener = page.getByRole("main").getByRole("button", { name: text(variant, "login.title") });
    await opener.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    const name = dialog.getByLabel(text(variant, "login.name"));
    assert.ok(await name.evaluate((element) => element === document.activeElement), "the name has the focus");
    await visit.check("login");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.ok(await opener.evaluate((element) => element === document.activeElement), "the focus returns");
    await opener.click();
    visit.expectFailures(/\/-\/api\/session$/);
    await name.fill(site.user);
    await dialog.getByLabel(text(variant, "login.password")).fill("wrong");
    await page.keyboard.press("Enter");
    await dialog.getByText(text(variant, "login.wrong")).waitFor();
    await visit.check("login-wrong");
    await dialog.getByLabel(text(variant, "login.password")).fill(site.password);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    const logOut = page.getByRole("main").getByRole("button", { name: text(variant, "settings.logOut") });
    await logOut.waitFor();
    await page.reload();
    await visit.ready();
    await logOut.waitFor();
    await visit.check("login-done");
    await logOut.click();
    await opener.waitFor();
  },
};
