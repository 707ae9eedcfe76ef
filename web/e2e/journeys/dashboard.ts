import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** Prefetches a folder, ends that, and purges the cache from the dashboard, each after a question. */
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
    const confirm = (name: "ops.prefetch" | "ops.purge") => dialog.getByRole("button", { name: text(variant, name) }).click();

    await panel.waitFor();
    await ask("ops.purge", "");
    await visit.check("dashboard-purge");
    await dialog.getByRole("button", { name: text(variant, "ops.keep") }).click();
    await dialog.waitFor({ state: "detached" });

    visit.expectFailures(/api\/(folders|prefetch)/);
    // On a busy machine, a prefetch that an earlier visit has cancelled may still be at its picture.
    if (await panel.getByRole("button", { name: text(variant, "ops.prefetch"), exact: true }).isVisible()) {
      await ask("ops.prefetch", "no/such/folder");
      await confirm("ops.prefetch");
      await dialog.locator(".field-error").filter({ hasText: /\S/ }).waitFor();
      await dialog.getByRole("combobox").fill("photos/2022");
      await confirm("ops.prefetch");
      await dialog.waitFor({ state: "detached" });
      await panel.getByText("photos/2022").waitFor();
      await visit.check("dashboard");
      // On a busy machine, a prefetch gets no core, so the journey does not wait for its end.
      const cancel = text(variant, "ops.cancelPrefetch");
      const present = panel.getByRole("button", { name: cancel });
      if (await present.isVisible()) {
        await present.click();
        await dialog.getByRole("button", { name: cancel }).click();
        await dialog.waitFor({ state: "detached" });
      }
    }

    await ask("ops.purge", "photos/2022");
    await confirm("ops.purge");
    await dialog.waitFor({ state: "detached" });
    await visit.open("ops/charts");
    await page.locator(".uplot canvas").first().waitFor();
    await visit.check("dashboard-charts");
  },
};
