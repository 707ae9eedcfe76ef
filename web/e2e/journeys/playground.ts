import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import type { Visit } from "../visit.ts";

/** Crops by dragging and by arrow keys, then removes the crop. */
async function crop(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  const inAddress = () => new URL(page.url()).searchParams.get("crop");
  await page.getByRole("button", { name: text(variant, "play.cropStart") }).click();
  await page.waitForURL(/[?&]crop=0\.1/);
  const corner = page.locator(".play-corner.se");
  await corner.scrollIntoViewIfNeeded();
  const box = await corner.boundingBox();
  assert.ok(box);
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x - 60, y - 40, { steps: 3 });
  await page.mouse.up();
  await page.waitForFunction(() => !(new URL(location.href).searchParams.get("crop") ?? "0.8").endsWith("0.8"));
  await page.locator(".play-move").focus();
  await page.keyboard.press("ArrowLeft");
  await page.waitForURL(/[?&]crop=0\.09/);
  const [, top, width, height] = (inAddress() ?? "").split(",").map(Number);
  assert.equal(top, 0.1, "the upper edge stays where it is");
  assert.ok(width && width < 0.8 && height && height < 0.8, inAddress() ?? "");
  await visit.check("playground-crop");
  // A frame around the whole picture stays, so that it can be made smaller again.
  for (const [name, keys] of [["nw", ["ArrowLeft", "ArrowUp"]], ["se", ["ArrowRight", "ArrowDown"]]] as const) {
    const grip = page.locator(`.play-corner.${name}`);
    await grip.focus();
    for (const key of keys) for (let step = 0; step < 50; step++) await page.keyboard.press(key);
    assert.ok(await grip.evaluate((it) => it === document.activeElement), "the corner keeps the focus");
  }
  await page.waitForFunction(() => new URL(location.href).searchParams.get("crop") === "0.0,0,1,1");
  await page.getByRole("button", { name: text(variant, "play.whole") }).click();
  await page.waitForFunction(() => !new URL(location.href).searchParams.has("crop"));
}

/** Changes pixels by controls of each kind, and removes the changes. */
async function effects(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  const figure = page.locator(".play-figures dd").nth(1);
  await page.locator(".play-effects > summary").click();
  await page.getByRole("slider", { name: text(variant, "play.blur") }).focus();
  await page.keyboard.press("ArrowUp");
  await page.waitForURL(/[?&]blur=0\.5/);
  await page.getByRole("checkbox", { name: text(variant, "play.sepia") }).check();
  await page.getByLabel(new RegExp(`^${text(variant, "play.pad")} `)).fill("10");
  await page.waitForURL(/[?&]sepia=true&blur=0\.5&pad=10/);
  await figure.filter({ hasText: "220 ×" }).waitFor();
  await page.locator(".play-colours input").last().fill("#3366cc");
  await page.waitForURL(/[?&]bg=3366cc/);
  await visit.check("playground-effects");
  for (const name of ["play.pad", "play.bg", "play.blur"] as const) await page.getByLabel(new RegExp(`^${text(variant, name)} `)).fill("");
  await page.getByRole("checkbox", { name: text(variant, "play.sepia") }).uncheck();
  await page.waitForFunction(() => !/blur|sepia|pad|bg/.test(location.search));
  await figure.filter({ hasText: "200 ×" }).waitFor();
}

/** Builds the URL of a picture: controls, result, a refused parameter, sizes, and the address. */
export const playground: Journey = {
  name: "playground",
  isSmoke: true,
  logsIn: false,
  run: async (visit) => {
    const { page, variant } = visit;
    await visit.open("photos");
    await page.locator(".tile:not(.failed) a").first().click();
    await page.locator(".viewer .stage img").first().waitFor();
    await page.keyboard.press("o");
    await page.locator(".play-frame img").waitFor();
    const address = () => new URL(page.url());
    assert.match(address().searchParams.get("picture") ?? "", /^ph-/);

    const control = (key: Parameters<typeof text>[1]) => page.getByLabel(new RegExp(`^${text(variant, key)} `));
    const size = page.locator(".play-figures dd").nth(1);
    const width = control("play.w");
    await width.fill("200");
    await size.filter({ hasText: "200 ×" }).waitFor();
    assert.equal(address().searchParams.get("w"), "200");

    visit.expectFailures(/[?&]w=0/);
    await width.fill("0");
    const refusal = page.locator("#play-error-w");
    await refusal.filter({ hasText: "16384" }).waitFor();
    assert.equal(await width.getAttribute("aria-invalid"), "true");
    await visit.check("playground-refused");
    await width.fill("200");
    await refusal.filter({ hasNotText: "16384" }).waitFor();

    await crop(visit);
    await effects(visit);
    await control("play.format").selectOption("webp");
    await page.locator(".play-figures dd").first().filter({ hasText: "WebP" }).waitFor();
    await page.locator(".play-figures div[title=SSIMULACRA2] dd").filter({ hasText: /[\d٠-٩]/ }).waitFor();
    await page.locator(".play-snippet pre").first().filter({ hasText: "w=200&format=webp" }).waitFor();

    await visit.role("button", text(variant, "play.measure")).click();
    const cells = page.locator(".play-matrix td button");
    await page.waitForFunction(() => [...document.querySelectorAll(".play-matrix td button")].every((it) => /\d|[٠-٩]/.test(it.textContent ?? "")));
    assert.equal(await cells.count(), 15);
    await visit.check("playground");
    await cells.first().click();
    await page.waitForURL(/format=avif&?.*/);
    assert.equal(address().searchParams.get("quality"), "40");

    const again = page.url().slice(visit.site.root.length).replace("-/", "");
    await visit.open(again);
    assert.equal(await width.inputValue(), "200");
    assert.equal(await control("play.q").inputValue(), "40");
    assert.equal(await page.locator(".search input").inputValue(), "", "the page parameter `quality` must not appear in the search field");
    await page.locator(".play-figures dd").first().filter({ hasText: "AVIF" }).waitFor();

    visit.expectFailures(/ph-0/);
    await visit.open("playground?picture=ph-0");
    await visit.role("heading", text(variant, "play.gone")).waitFor();
    await visit.open("settings");
    await page.locator('main a[href$="/playground"]').click();
    await page.locator(".play-frame img").waitFor();
    assert.equal(address().searchParams.get("w"), "960");
  },
};
