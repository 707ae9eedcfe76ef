import assert from "node:assert/strict";

import type { Locator } from "playwright-core";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { ALBUMS } from "../music.ts";
import { playAlbum } from "../player.ts";
import type { Visit } from "../visit.ts";

const [album] = ALBUMS;

/** Files and streams of tracks. */
const SOUND = /\/music\/[^?]*\.(flac|mp3|opus)$|\/stream\?/;
/** Requests that need a login once the session has expired: sound and lists. */
const GUARDED = new RegExp(`${SOUND.source}|/-/api/(albums|artists|tracks)`);
/** Position from which the music goes on after the login, in seconds: that of one jump. */
const KEPT_S = 5;

/**
 * An empty library, a lost connection and an expired session: the page says what is wrong, and views
 * and music go on by themselves where they were.
 */
export const recovery: Journey = {
  name: "recovery",
  isSmoke: false,
  logsIn: true,
  run: async (visit) => {
    visit.expectFailures(/\/-\/(api|live)|\.(flac|mp3|opus)$/);
    await openEmpty(visit);
    assert.ok(album);
    const player = await playAlbum(visit, album);
    await loseConnection(visit, player);
    await expire(visit, player);
  },
};

/** Opens the first views of music and photos of a library without files. */
async function openEmpty(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  await page.route(/\/-\/api$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), tracks: 0, albums: 0, artists: 0, durationSeconds: 0 } });
  });
  await page.route(/\/-\/api\/albums\?/, (route) => route.fulfill({ json: { total: 0, offset: 0, items: [] } }));
  await visit.open("music");
  await page.getByText(text(variant, "music.emptyHint")).waitFor();
  await visit.check("empty-music");
  await page.route(/\/-\/api\/timeline/, (route) => route.fulfill({ json: { generation: "0", months: [] } }));
  await visit.open("photos");
  await page.getByText(text(variant, "photos.emptyHelp")).waitFor();
  await visit.check("empty-photos");
  await page.unrouteAll();
}

/** Opens a view and goes to the next track without a connection, which comes back. */
async function loseConnection(visit: Visit, player: Locator): Promise<void> {
  const { page, variant } = visit;
  await page.route(/\/-\/(api|live)|\.(flac|mp3|opus)$/, (route) => route.abort());
  // The player has not loaded the last track before.
  const last = album?.tracks.at(-1) ?? "";
  await page.keyboard.press(".");
  await page.keyboard.press(".");
  await player.getByText(last, { exact: true }).first().waitFor();
  await page.locator(".toast").getByText(text(variant, "music.waiting")).waitFor();
  await visit.role("link", text(variant, "music.genres")).click();
  await visit.role("heading", text(variant, "error.unreachable")).waitFor();
  await page.locator(".offline").waitFor();
  await player.getByRole("button", { name: text(variant, "music.play"), exact: true }).first().waitFor();
  await visit.check("recovery-lost");
  await page.unrouteAll();
  await page.getByRole("main").getByRole("link", { name: album?.genre ?? "" }).waitFor();
  await page.locator(".offline").waitFor({ state: "detached" });
  await player.getByRole("button", { name: text(variant, "music.pause"), exact: true }).first().waitFor();
  await player.getByText(last, { exact: true }).first().waitFor();
}

/** Lets the session expire in the middle of a track, and logs in. */
async function expire(visit: Visit, player: Locator): Promise<void> {
  const { page, variant, context, site } = visit;
  const button = (name: "music.play" | "music.pause") => player.getByRole("button", { name: text(variant, name), exact: true }).first();
  await button("music.pause").click();
  for (const key of ["ArrowLeft", "ArrowLeft", "ArrowRight"]) await page.keyboard.press(key);
  assert.equal(await page.evaluate(secondsPlayed), KEPT_S);
  const queue = await page.evaluate(() => localStorage.getItem("pelton.music.queue"));
  // The server has forgotten the session: only a new login gives a cookie.
  await page.route(GUARDED, async (route) => {
    if ((await context.cookies()).length > 0) await route.continue();
    else await route.fulfill({ status: 401, json: { title: "a login is needed" } });
  });
  const dialog = page.getByRole("dialog");
  await visit.open("music/albums");
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await visit.role("heading", text(variant, "error.failed")).waitFor();
  await button("music.play").click();
  await dialog.waitFor();
  await visit.check("recovery-expired");
  await dialog.getByLabel(text(variant, "login.name")).fill(site.user);
  await dialog.getByLabel(text(variant, "login.password")).fill(site.password);
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  const resumed = await page.waitForFunction(isPastKept, KEPT_S);
  assert.ok(Number(await resumed.jsonValue()) > KEPT_S);
  assert.equal(await page.evaluate(() => localStorage.getItem("pelton.music.queue")), queue);
  await page.getByRole("main").getByRole("link", { name: album?.title ?? "" }).first().waitFor();
  await visit.check("recovery-done");
}

/** Returns the position of the slider of the player, in seconds. Runs in the page. */
function secondsPlayed(): number {
  return Number(document.querySelector<HTMLInputElement>(".player .range")?.value);
}

/** Returns the position once the music goes on behind `kept` seconds. Runs in the page. */
function isPastKept(kept: number): number | false {
  const seconds = Number(document.querySelector<HTMLInputElement>(".player .range")?.value);
  if (seconds < kept) throw new Error(`the music went on at ${seconds} s`);
  return seconds > kept && seconds;
}
