import assert from "node:assert/strict";

import { AREAS, type Area } from "../../src/areas.ts";
import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import type { Visit } from "../visit.ts";

/**
 * Start of every area that the navigation offers: first to a guest, then to an admin, and the first
 * one with the colours that the system forces, and with motion.
 */
export const areas: Journey = {
  name: "areas",
  isSmoke: true,
  logsIn: true,
  run: async (visit) => {
    for (const area of AREAS.filter((it) => !it.isForAdmins)) await start(visit, area);
    await visit.logIn();
    for (const area of AREAS.filter((it) => it.isForAdmins)) await start(visit, area);
    const [first] = AREAS;
    assert.ok(first);
    await visit.page.emulateMedia({ forcedColors: "active", reducedMotion: "no-preference" });
    await start(visit, first, "-forced");
  },
};

async function start(visit: Visit, area: Area, suffix = ""): Promise<void> {
  await visit.open(area.path);
  const navigation = visit.page.getByRole("navigation").first();
  const link = navigation.getByRole("link", { name: text(visit.variant, area.label) });
  assert.equal(await link.getAttribute("aria-current"), "page", area.path);
  const missing = await link.evaluate((element) => {
    const label = element.querySelector("span");
    return label ? label.scrollWidth - label.clientWidth : Number.NaN;
  });
  assert.equal(missing, 0, `pixels by which the label of ${area.path} is cut`);
  await visit.check(`area-${area.path}${suffix}`);
}
