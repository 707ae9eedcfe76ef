import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { Finger } from "../touch.ts";
import { isNarrow } from "../viewer.ts";
import type { Visit } from "../visit.ts";

/** Number of times that a phone's handle is dragged at most: it is shown for a moment after scrolling. */
const DRAGS_MAX = 10;

/** Ways to pictures: searches by date and camera, the scrubber, the dialog of months, and nested folders. */
export const timeline: Journey = {
  name: "timeline",
  isSmoke: false,
  logsIn: false,
  run: async (visit) => {
    await searches(visit);
    await scrubber(visit);
    await months(visit);
    await folders(visit);
  },
};

/** Types a text into the search field, and returns the names of all pictures that are found. */
async function found({ page }: Visit, words: string, count: number): Promise<string[]> {
  const field = page.locator(".search input");
  await field.fill("");
  await field.pressSequentially(words);
  await page.waitForURL((url) => url.searchParams.get("q") === words);
  const links = page.locator(".tile a");
  await page.waitForFunction((wanted) => document.querySelectorAll(".tile.ready").length === wanted, count);
  const labels = await links.evaluateAll((all) => all.map((it) => it.ariaLabel ?? ""));
  return labels.map((it) => it.split(/[.,]/)[0] ?? "").sort();
}

async function searches(visit: Visit): Promise<void> {
  const { page } = visit;
  await visit.open("photos");
  const byDate = await found(visit, "2022-12", 4);
  assert.deepEqual(byDate, ["IMG_1048", "IMG_1049", "IMG_1050", "IMG_1051"]);
  await visit.check("timeline-date");
  const byCamera = await found(visit, "X-T4 2022-12", 1);
  assert.deepEqual(byCamera, ["IMG_1049"]);
  await visit.check("timeline-camera");
  await page.locator(".search input").fill("");
  await page.waitForURL((url) => !url.searchParams.has("q"));
}

/** Drags the scrubber's handle from the newest pictures to the middle of the window. */
async function scrubber(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  await visit.open("photos");
  await page.locator(".tile.ready").first().waitFor();
  const slider = visit.role("slider", text(variant, "photos.scrubber"));
  await slider.waitFor({ state: "attached" });
  const box = await slider.boundingBox();
  assert.ok(box);
  const [top, middle] = [{ x: box.x + box.width / 2, y: box.y + 2 }, { x: box.x + box.width / 2, y: box.y + box.height / 2 }];
  if (isNarrow(visit)) {
    await dragHandle(visit);
  } else {
    await page.mouse.move(top.x, top.y);
    await page.mouse.down();
    await page.mouse.move(middle.x, middle.y, { steps: 5 });
    await visit.check("timeline-scrubber");
    await page.mouse.up();
  }
  await page.waitForFunction(isMonthShown);
  assert.match((await slider.getAttribute("aria-valuetext")) ?? "", / · [\d٠-٩]+ /, "the label has the number of pictures");
}

/** Returns whether pictures are shown of the month that the scrubber names. Runs in the page. */
function isMonthShown(): boolean {
  const [month] = document.querySelector(".scrubber")?.getAttribute("aria-valuetext")?.split(" · ") ?? [];
  const lists = [...document.querySelectorAll(".month [role=list]")];
  return lists.some((it) => it.ariaLabel === month && it.querySelector(".tile.ready"));
}

/** Scrolls a little, so that the handle is shown, and drags it down. */
async function dragHandle(visit: Visit): Promise<void> {
  const { page } = visit;
  const finger = await Finger.on(page);
  const present = async () => Number(await page.locator(".scrubber").getAttribute("aria-valuenow"));
  for (let drag = 0; drag < DRAGS_MAX; drag += 1) {
    await page.mouse.move(180, 400);
    await page.mouse.wheel(0, 200);
    const handle = page.locator(".scrubber.shown .handle");
    await handle.waitFor();
    const box = await handle.boundingBox();
    if (!box) continue;
    const from = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    await finger.drag(from, { x: from.x, y: 422 });
    if ((await present()) > 50) return;
  }
  assert.fail("the handle cannot be dragged");
}

async function months(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  await page.keyboard.press("g");
  const dialog = page.getByRole("dialog");
  const choice = dialog.getByLabel(text(variant, "photos.month"));
  await choice.waitFor();
  const oldest = (await choice.locator("option").allTextContents()).at(-1) ?? "";
  assert.match(oldest, / · /);
  await visit.check("timeline-months");
  await choice.selectOption({ label: oldest });
  await dialog.getByRole("button", { name: text(variant, "photos.go") }).click();
  await dialog.waitFor({ state: "detached" });
  visit.expectFailures(/damaged/);
  // The list itself has no size.
  await page.getByRole("list", { name: oldest.split(" · ")[0] ?? "", exact: true }).getByRole("listitem").first().waitFor();
}

/** Goes down into nested folders by their cards, and up again by the path at the top. */
async function folders(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  await visit.open("folders");
  for (const name of ["archive", "2019", "07"]) await page.locator(".folder-card").filter({ has: page.getByText(name, { exact: true }) }).click();
  await page.waitForURL(/\/folders\/archive\/2019\/07$/);
  await page.locator(".tile.ready").first().waitFor();
  const path = visit.role("navigation", text(variant, "folders.path"));
  const parts = path.getByRole("link");
  assert.deepEqual(await parts.allTextContents(), [text(variant, "folders.root"), "archive", "2019", "07"]);
  assert.equal(await parts.last().getAttribute("aria-current"), "page");
  await visit.check("timeline-folder");
  await parts.nth(2).click();
  await page.waitForURL(/\/folders\/archive\/2019$/);
  await page.locator(".folder-card").nth(11).waitFor();
  await parts.first().click();
  await page.waitForURL(/\/folders$/);
  await page.locator(".folder-card").first().waitFor();
}
