import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** Starts and cancels a prefetch, then purges the cache; each step asks for confirmation. */
export const dashboard: Journey = {
  name: "dashboard",
  isSmoke: true,
  logsIn: true,
  run: async (visit) => {
    const { page, variant } = visit;
    await visit.logIn();
    await visit.open("ops");
    const panel = page.locator(".ops-panel", { has: page.getByRole("heading", { name: text(variant, "ops.budget.variants") }) });
    const dialog = page.locator("dialog");
    const ask = async (name: "ops.prefetch" | "ops.purge", path: string) => {
      await panel.getByRole("button", { name: text(variant, name) }).click();
      await dialog.getByRole("combobox").fill(path);
    };
    const confirm = (name: "ops.prefetch" | "ops.cancelPrefetch" | "ops.purge") => dialog.getByRole("button", { name: text(variant, name) }).click();

    await panel.waitFor();
    await ask("ops.purge", "");
    await visit.check("dashboard-purge");
    await dialog.getByRole("button", { name: text(variant, "ops.keep") }).click();
    await dialog.waitFor({ state: "detached" });

    visit.expectFailures(/api\/(folders|prefetch)/);
    const start = panel.getByRole("button", { name: text(variant, "ops.prefetch"), exact: true });
    const cancel = panel.getByRole("button", { name: text(variant, "ops.cancelPrefetch"), exact: true });
    await start.or(cancel).waitFor();
    // A prefetch cancelled by an earlier visit may still be converting its last picture.
    const isFree = await start.isVisible();
    if (isFree) {
      await ask("ops.prefetch", "no/such/folder");
      await confirm("ops.prefetch");
      await dialog.locator(".field-error").filter({ hasText: /\S/ }).waitFor();
      await dialog.getByRole("combobox").fill("photos/2022");
      await confirm("ops.prefetch");
      await dialog.waitFor({ state: "detached" });
      await panel.getByText("photos/2022").waitFor();
      await visit.check("dashboard");
    }
    // On a busy machine a prefetch may get no core, so the journey does not wait for its end. On an
    // idle one, it may have ended already.
    if ((await cancel.isVisible()) && (await cancel.isEnabled({ timeout: 1000 }).catch(() => false))) {
      await cancel.click();
      await confirm("ops.cancelPrefetch");
      await dialog.waitFor({ state: "detached" });
    }

    await ask("ops.purge", "photos/2022");
    await confirm("ops.purge");
    await dialog.waitFor({ state: "detached" });
    await visit.open("ops/charts");
    await page.locator(".uplot canvas").first().waitFor();
    await visit.check("dashboard-charts");
    return isFree ? undefined : "an earlier prefetch was still ending, so none was started";
  },
};
