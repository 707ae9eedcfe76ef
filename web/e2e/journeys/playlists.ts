import assert from "node:assert/strict";

import type { Locator } from "playwright-core";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { ALBUMS } from "../music.ts";
import type { Visit } from "../visit.ts";

/** Name of the playlist. Its markup must be shown as text. */
const NAME = "Evening <i>walk</i>";
const RENAMED = "Late";

/** Playlist of a user: created from an album, extended, reordered, renamed and deleted. */
export const playlists: Journey = {
  name: "playlists",
  isSmoke: true,
  logsIn: true,
  run: async (visit) => {
    const [album] = ALBUMS;
    assert.ok(album);
    await openAlbum(visit, album.title);
    await openMenu(visit, album.title);
    assert.equal(await addItem(visit).count(), 0, "entries for guests");
    await visit.page.keyboard.press("Escape");
    await visit.open("music/playlists");
    assert.equal(await visit.role("button", text(visit.variant, "music.newPlaylist")).count(), 0, "buttons for guests");
    await visit.logIn();
    await openAlbum(visit, album.title);
    await openMenu(visit, album.title);
    await addItem(visit).click();
    const dialog = visit.page.getByRole("dialog");
    await dialog.getByLabel(text(visit.variant, "music.newPlaylist")).fill(NAME);
    await visit.check("playlist-add");
    // After a failure the dialog stays, with the name.
    visit.expectFailures(/api\/playlists/);
    await visit.page.route("**/api/playlists", (route) => route.fulfill({ status: 503 }));
    const submit = dialog.getByRole("button", { name: text(visit.variant, "music.create") });
    await submit.click();
    await dialog.getByRole("alert").filter({ hasText: /\S/ }).waitFor();
    await visit.page.unroute("**/api/playlists");
    await submit.click();
    await toast(visit, text(visit.variant, "music.addedTo", { name: NAME }));
    await addTrack(visit, "Dawn");
    await openOwn(visit, NAME);
    await edit(visit);
    await editWhileLoading(visit);
    await rename(visit);
    await remove(visit);
  },
};

async function openAlbum(visit: Visit, title: string): Promise<void> {
  const { page } = visit;
  await visit.open("music/albums");
  await page.getByRole("link", { name: title }).first().click();
  await page.getByRole("heading", { name: title, level: 1 }).waitFor();
}

async function openMenu(visit: Visit, title: string): Promise<void> {
  // A track may have the title of the album; the album's button is the first.
  await visit.role("button", text(visit.variant, "music.more", { title })).first().click();
  await visit.page.getByRole("menu").waitFor();
}

function addItem(visit: Visit): Locator {
  return visit.role("menuitem", text(visit.variant, "music.addTo"));
}

async function toast({ page }: Visit, message: string): Promise<void> {
  await page.locator(".toast").getByText(message).waitFor();
}

/** Adds a track to the playlist by its menu, with the keyboard alone. */
async function addTrack(visit: Visit, title: string): Promise<void> {
  const { page, variant } = visit;
  await visit.role("button", text(variant, "music.more", { title })).focus();
  await page.keyboard.press("Enter");
  await addItem(visit).focus();
  await page.keyboard.press("Enter");
  const choice = page.getByRole("dialog").getByRole("button", { name: NAME });
  await choice.waitFor();
  await visit.check("playlist-choose");
  await choice.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await toast(visit, text(variant, "music.addedTo", { name: NAME }));
}

async function openOwn(visit: Visit, name: string): Promise<void> {
  await visit.open("music/playlists");
  await visit.role("heading", text(visit.variant, "music.ownPlaylists")).waitFor();
  await visit.check("playlists");
  await visit.page.getByRole("link", { name }).click();
  await visit.page.getByRole("heading", { name, level: 1 }).waitFor();
}

function titles({ page }: Visit): Promise<string[]> {
  return page.locator(".virtual .track-title").allTextContents();
}

/** Waits until the rows have these titles, also after the view has been loaded again. */
async function expectTitles(visit: Visit, expected: readonly string[]): Promise<void> {
  const wait = async () => {
    const arrived = (wanted: string) => [...document.querySelectorAll(".virtual .track-title")].map((it) => it.textContent).join() === wanted;
    await visit.page.waitForFunction(arrived, expected.join());
  };
  await wait();
  await visit.page.waitForLoadState("networkidle");
  await visit.page.reload();
  await visit.ready();
  await wait();
}

/** Moves tracks by keyboard and by drag, removes one, and takes the removal back. */
async function edit(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  await visit.check("playlist");
  const handle = (title: string) => visit.role("button", text(variant, "music.move", { title }));
  await handle("Dusk").focus();
  for (const index of ["1", "2"]) {
    await page.keyboard.press("ArrowDown");
    // The focus follows the moved row.
    await page.waitForFunction((wanted) => document.activeElement?.closest("[data-index]")?.getAttribute("data-index") === wanted, index);
  }
  await expectTitles(visit, ["Night", "Dawn", "Dusk", "Dawn"]);
  const [from, to] = [await handle("Night").boundingBox(), await handle("Dusk").boundingBox()];
  assert.ok(from && to);
  await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(to.x + to.width / 2, to.y + to.height / 2, { steps: 8 });
  await page.waitForSelector("[data-dragged]");
  await page.waitForFunction(() => document.querySelector("[data-dragged]")?.closest("[data-index]")?.getAttribute("data-index") === "2");
  await page.mouse.up();
  await expectTitles(visit, ["Dawn", "Dusk", "Night", "Dawn"]);
  await openMenu(visit, "Dusk");
  await visit.role("menuitem", text(variant, "music.removeFrom")).click();
  await toast(visit, text(variant, "music.removed", { title: "Dusk" }));
  await visit.check("playlist-removed");
  assert.deepEqual(await titles(visit), ["Dawn", "Night", "Dawn"]);
  await visit.role("button", text(variant, "music.undo")).click();
  await expectTitles(visit, ["Dawn", "Dusk", "Night", "Dawn"]);
}

/**
 * Removes a track while the playlist, which Back shows at once, is loaded again. The response from
 * before the removal arrives after it, and must not bring the track back.
 */
async function editWhileLoading(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  await visit.role("link", text(variant, "music.playlists")).click();
  await visit.role("heading", text(variant, "music.playlists")).waitFor();
  const start = /\/playlists\/pl-[0-9a-f]+\?offset=0/;
  let release = () => {};
  const removed = new Promise<void>((resolve) => (release = resolve));
  const fetched = new Promise<void>((resolve) => {
    void page.route(start, async (route) => {
      const response = await route.fetch();
      resolve();
      await removed;
      await route.fulfill({ response });
    });
  });
  const loaded = page.waitForResponse(start);
  await page.goBack();
  await page.getByRole("heading", { name: NAME, level: 1 }).waitFor();
  await fetched;
  const stored = page.waitForResponse((response) => response.request().method() === "DELETE");
  await openMenu(visit, "Night");
  await visit.role("menuitem", text(variant, "music.removeFrom")).click();
  await stored;
  release();
  await (await loaded).finished();
  await page.unroute(start);
  // The page has rendered the response after two frames.
  await page.evaluate(() => new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))));
  assert.deepEqual(await titles(visit), ["Dawn", "Dusk", "Dawn"]);
  await visit.role("button", text(variant, "music.undo")).click();
  await expectTitles(visit, ["Dawn", "Dusk", "Night", "Dawn"]);
}

async function rename(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  await openMenu(visit, NAME);
  await visit.check("playlist-menu");
  await visit.role("menuitem", text(variant, "music.rename")).click();
  const name = page.getByRole("dialog").getByLabel(text(variant, "music.playlistName"));
  assert.equal(await name.inputValue(), NAME);
  await name.fill(RENAMED);
  const stored = page.waitForResponse((response) => response.request().method() === "PUT");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: RENAMED, level: 1 }).waitFor();
  await stored;
}

/** Returns the number of playlists with this name, as the server lists them. */
async function countListed(visit: Visit, name: string): Promise<number> {
  const { page, variant } = visit;
  await visit.open("music/playlists");
  // The list has loaded once it shows a playlist, or says that there are none.
  await page.locator(".tiles b").or(page.getByText(text(variant, "music.noPlaylists"))).first().waitFor();
  return page.locator(".tiles b").getByText(name, { exact: true }).count();
}

async function remove(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  assert.equal(await countListed(visit, RENAMED), 1);
  assert.equal(await countListed(visit, NAME), 0, "the name before");
  await page.getByRole("link", { name: RENAMED }).click();
  await page.getByRole("heading", { name: RENAMED, level: 1 }).waitFor();
  await openMenu(visit, RENAMED);
  await visit.role("menuitem", text(variant, "music.delete")).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(text(variant, "music.deleteQuestion", { name: RENAMED })).waitFor();
  await visit.check("playlist-delete");
  await dialog.getByRole("button", { name: text(variant, "music.delete") }).click();
  await toast(visit, text(variant, "music.deleted", { name: RENAMED }));
  await visit.role("heading", text(variant, "music.playlists")).waitFor();
  assert.equal(await countListed(visit, RENAMED), 0);
}
