import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { ALBUMS } from "../music.ts";
import type { Visit } from "../visit.ts";

/** Text for visitors. Its markup must be shown as text. */
const DESCRIPTION = "For <i>you</i>";
/** Delay of the session, in milliseconds. */
const LATE_MS = 500;

/** Share links: an album, a photo and a folder of videos are shared, seen by a visitor, and revoked. */
export const shares: Journey = {
  name: "shares",
  isSmoke: true,
  logsIn: true,
  run: async (visit) => {
    const { page, variant } = visit;
    const [album] = ALBUMS;
    assert.ok(album);
    await visit.open("settings");
    await visit.logIn();
    await visit.open("music/albums");
    await page.getByRole("link", { name: album.title }).first().click();
    await page.getByRole("heading", { name: album.title, level: 1 }).waitFor();
    await visit.role("button", text(variant, "music.more", { title: album.title })).first().click();
    await visit.role("menuitem", text(variant, "music.share")).click();
    const music = await create(visit, "share");
    await visit.open("photos");
    await page.locator(".tile").first().click();
    await visit.role("button", text(variant, "photos.share")).click();
    const photo = await create(visit, "share-photo");
    // Videos are originals, so the link to a folder of videos allows originals by default.
    // The button to share appears with the session, and must not move what is there by then.
    await page.route("**/api/session", (route) => setTimeout(() => void route.continue(), LATE_MS));
    await visit.open("folders/photos/2022/videos");
    await visit.role("button", text(variant, "photos.share")).click();
    await page.unroute("**/api/session");
    const films = await create(visit, "share-videos");
    await see(visit, music, "audio");
    await see(visit, photo, ".grid img");
    await watch(visit, films);
    await visit.open("settings");
    const list = visit.role("list", text(variant, "share.list"));
    await list.getByText(DESCRIPTION, { exact: true }).first().waitFor();
    await visit.check("share-list");
    visit.expectFailures(/api\/sessions/);
    await page.route("**/api/sessions", (route) => route.fulfill({ status: 500 }));
    await page.reload();
    // The list of links does not need that of sessions.
    await list.getByText(DESCRIPTION, { exact: true }).first().waitFor();
    await page.unroute("**/api/sessions");
    for (const link of [music, photo, films]) await revoke(visit, link);
  },
};

/** Fills the dialog in, and returns the link. */
async function create(visit: Visit, name: string): Promise<string> {
  const { page, variant } = visit;
  const dialog = page.getByRole("dialog").last();
  await dialog.getByLabel(text(variant, "share.description")).fill(DESCRIPTION);
  await visit.check(name);
  await dialog.getByRole("button", { name: text(variant, "share.create") }).click();
  const link = await dialog.getByLabel(text(variant, "share.link"), { exact: true }).inputValue();
  await visit.check(`${name}-link`);
  return link;
}

/** Revokes a link in the list of links, after a question, and checks that it is gone. */
async function revoke(visit: Visit, link: string): Promise<void> {
  const { page, variant } = visit;
  const row = visit.role("list", text(variant, "share.list")).getByRole("listitem").filter({ has: page.locator(`a[href="${new URL(link).pathname}"]`) });
  const ask = row.getByRole("button", { name: text(variant, "share.revoke") });
  const dialog = page.getByRole("dialog");
  await ask.click();
  await visit.check("share-revoke");
  await dialog.getByRole("button", { name: text(variant, "share.cancel"), exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  assert.equal((await page.request.get(link)).status(), 200, "a link that is not revoked after all");
  await ask.click();
  await dialog.getByRole("button", { name: text(variant, "share.revoke"), exact: true }).click();
  await row.waitFor({ state: "detached" });
  assert.equal((await page.request.get(link)).status(), 404, "a revoked link");
}

/** Plays a video of a shared folder in a browser without a login. */
async function watch(visit: Visit, link: string): Promise<void> {
  const page = await visit.openOther();
  await page.goto(link);
  const video = page.locator(".videos video").first();
  await video.evaluate(async (it: HTMLVideoElement) => {
    it.muted = true;
    await it.play();
  });
  await page.waitForFunction(() => (document.querySelector("video")?.currentTime ?? 0) > 0);
  await page.context().close();
}

/** Opens a link in a browser without a login, with and without scripts. */
async function see(visit: Visit, link: string, content: string): Promise<void> {
  for (const javaScriptEnabled of [true, false]) {
    const page = await visit.openOther({ javaScriptEnabled });
    const response = await page.goto(link);
    assert.equal(response?.status(), 200, link);
    await page.getByRole("heading", { name: DESCRIPTION, level: 1 }).waitFor();
    await page.locator(content).first().waitFor();
    if (javaScriptEnabled && content !== "audio") {
      await page.locator(".grid a").first().click();
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    }
    await page.context().close();
  }
}
