import assert from "node:assert/strict";

import { AREAS } from "../../src/areas.ts";
import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";

/** Start of every area that the navigation offers. */
export const areas: Journey = {
  name: "areas",
  isSmoke: true,
  run: async (visit) => {
    const { page, variant } = visit;
    for (const area of AREAS.filter((it) => !it.isForAdmins)) {
      await visit.open(area.path);
      const link = page.getByRole("navigation").first().getByRole("link", { name: text(variant, area.label) });
      assert.equal(await link.getAttribute("aria-current"), "page", area.path);
      await visit.check(`area-${area.path}`);
    }
  },
};
