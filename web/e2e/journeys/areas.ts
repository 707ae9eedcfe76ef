import assert from "node:assert/strict";

import { AREAS, type Area } from "../../src/areas.ts";
import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import type { Visit } from "../visit.ts";

/** Start of every area that the navigation offers: first to a guest, then to an admin. */
export const areas: Journey = {
  name: "areas",
  // Not in the gate: music shifts while its shelves load, and asks for covers that albums lack.
  isSmoke: false,
  logsIn: true,
  run: async (visit) => {
    for (const area of AREAS.filter((it) => !it.isForAdmins)) await start(visit, area);
    await visit.logIn();
    for (const area of AREAS.filter((it) => it.isForAdmins)) await start(visit, area);
  },
};

async function start(visit: Visit, area: Area): Promise<void> {
  await visit.open(area.path);
  const navigation = visit.page.getByRole("navigation").first();
  const link = navigation.getByRole("link", { name: text(visit.variant, area.label) });
  assert.equal(await link.getAttribute("aria-current"), "page", area.path);
  await visit.check(`area-${area.path}`);
}
