import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { isNarrow } from "../viewer.ts";
import type { Visit } from "../visit.ts";
import { downloaded } from "./download.ts";

/** Number of steps with the Tab key within which a control is reached. */
const STEPS_MAX = 40;

/** All with the keyboard: a picture is opened, is downloaded, becomes a favourite, and is closed. */
export const keys: Journey = {
  name: "keys",
  isSmoke: true,
  // The journey changes favourites.
  logsIn: true,
  run: async (visit) => {
    const { page, variant } = visit;
    await visit.logIn();
    await visit.open("photos");
    await page.locator(".tile.ready").first().waitFor();
    await reach(visit, ".tile a");
    const tile = await name(visit);
    await visit.check("keys-tile");
    await page.keyboard.press("Enter");
    await page.locator(".viewer .stage img").first().waitFor();

    await reach(visit, labelled(text(variant, "viewer.original")));
    const [file, bytes] = await downloaded(visit, () => page.keyboard.press("Enter"));
    assert.match(file, /\.jpe?g$/);
    assert.ok(bytes.length > 1000, `${bytes.length} bytes`);

    const favourite = text(variant, "photos.favourite");
    await reach(visit, labelled(favourite));
    await visit.check("keys-favourite");
    await page.keyboard.press("Space");
    const remove = visit.role("button", text(variant, "photos.unfavourite"));
    await remove.waitFor();
    assert.ok(await remove.evaluate((it) => it === document.activeElement), "the button keeps the focus");
    await page.keyboard.press("Enter");
    await visit.role("button", favourite).waitFor();

    if (isNarrow(visit)) await menu(visit);

    await page.keyboard.press("Escape");
    await page.locator(".viewer").waitFor({ state: "detached" });
    await page.waitForFunction((label) => document.activeElement?.ariaLabel === label, tile);
    assert.ok(await page.evaluate(isFocusVisible), "the tile shows the focus");
  },
};

/** Opens the menu of the viewer, goes through it, and leaves it; the viewer stays. */
async function menu(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  const more = text(variant, "viewer.more");
  await reach(visit, labelled(more));
  await page.keyboard.press("Enter");
  const items = page.getByRole("menuitem");
  await items.first().waitFor();
  await page.keyboard.press("End");
  assert.ok(await items.last().evaluate((it) => it === document.activeElement), "the last item has the focus");
  assert.ok(await page.evaluate(isFocusVisible));
  await page.keyboard.press("Escape");
  await items.first().waitFor({ state: "detached" });
  assert.equal(await name(visit), more);
  assert.equal(await page.locator(".viewer").count(), 1, "the key closes only the menu");
}

/** Returns the name of the element that has the focus. */
async function name({ page }: Visit): Promise<string> {
  return page.evaluate(() => document.activeElement?.ariaLabel ?? "");
}

/** Returns the selector of the elements that have this label. */
function labelled(label: string): string {
  return `[aria-label=${JSON.stringify(label)}]`;
}

/** Presses Tab until an element has the focus that matches a selector. Each element on the way must show the focus. */
async function reach({ page }: Visit, selector: string): Promise<void> {
  for (let step = 0; step < STEPS_MAX; step += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 120));
    assert.ok(await page.evaluate(isFocusVisible), `the focus is visible: ${focused}`);
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
  }
  assert.fail(`no element matches ${selector}`);
}

/** Returns whether the element that has the focus, or the field around it, has an outline. Runs in the page. */
function isFocusVisible(): boolean {
  const element = document.activeElement;
  // Between the last control and the first, the focus is outside the page.
  if (!element || element === document.body) return true;
  return [element, element.closest("[role=search]")].some((it) => {
    if (!it) return false;
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(it);
    return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && outlineColor !== "rgba(0, 0, 0, 0)";
  });
}
