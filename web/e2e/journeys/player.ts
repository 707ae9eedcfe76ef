import assert from "node:assert/strict";

import type { Locator } from "playwright-core";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { ALBUMS } from "../music.ts";
import { playAlbum } from "../player.ts";
import type { Visit } from "../visit.ts";

const [album] = ALBUMS;

/** State of the queue that the browser keeps. */
interface Kept {
  readonly titles: readonly string[];
  readonly at: number;
  readonly repeat: string;
  readonly isShuffled: boolean;
}

/**
 * The player: it survives navigation, names the track to the operating system, counts the play, and
 * keeps stars; the queue is reordered, shuffled and repeated.
 */
export const player: Journey = {
  name: "player",
  isSmoke: false,
  logsIn: true,
  run: async (visit) => {
    assert.ok(album);
    const { page } = visit;
    await visit.logIn();
    const before = await countPlays(visit);
    const counted = page.waitForResponse((it) => it.url().endsWith("/plays"));
    const bar = await playAlbum(visit, album);
    await navigate(visit, bar);
    await checkMediaSession(visit);
    assert.ok((await counted).ok());
    await pause(visit, bar);
    await rate(visit, bar);
    await reorder(visit);
    await shuffle(visit);
    await repeat(visit, bar);
    assert.ok((await countPlays(visit)) > before, "the play is counted");
  },
};

/** Returns how often the tracks of the album have been played, as the server counts. */
async function countPlays({ context, site }: Visit): Promise<number> {
  const response = await context.request.get(`${site.root}-/api/search?kinds=albums&q=${album?.title}`);
  const { albums } = (await response.json()) as { albums: { title: string; plays: number }[] };
  return albums.find((it) => it.title === album?.title)?.plays ?? NaN;
}

/** Waits until the queue that the browser keeps fits. */
async function expectQueue({ page }: Visit, fits: Partial<Kept>): Promise<void> {
  await page.waitForFunction((wanted) => {
    const stored: unknown = JSON.parse(localStorage.getItem("pelton.music.queue") ?? "null");
    const { entries, at, repeat, given } = stored as { entries: { track: { title: string } }[]; at: number; repeat: string; given: unknown };
    const kept: Record<string, unknown> = { titles: entries.map((it) => it.track.title), at, repeat, isShuffled: given !== null };
    return Object.entries(wanted).every(([name, value]) => JSON.stringify(kept[name]) === JSON.stringify(value));
  }, fits);
}

/** Opens a view of another area and returns. The same track goes on. */
async function navigate({ page, variant }: Visit, bar: Locator): Promise<void> {
  const seconds = await page.evaluate(secondsPlayed);
  await page.getByRole("navigation", { name: text(variant, "nav.label") }).getByRole("link", { name: text(variant, "nav.folders") }).click();
  await page.locator(".folder-cards").waitFor();
  await page.waitForFunction((before) => Number(document.querySelector<HTMLInputElement>(".player .range")?.value) > before, seconds);
  await page.goBack();
  await page.getByRole("heading", { name: album?.title ?? "", level: 1 }).waitFor();
  await bar.getByText(album?.tracks[0] ?? "", { exact: true }).first().waitFor();
}

/** Returns the position of the slider of the player, in seconds. Runs in the page. */
function secondsPlayed(): number {
  return Number(document.querySelector<HTMLInputElement>(".player .range")?.value);
}

async function checkMediaSession({ page }: Visit): Promise<void> {
  const announced = await page.evaluate(() => {
    const { metadata, playbackState } = navigator.mediaSession;
    return { title: metadata?.title, artist: metadata?.artist, album: metadata?.album, playbackState };
  });
  assert.deepEqual(announced, { title: album?.tracks[0], artist: album?.artist, album: album?.title, playbackState: "playing" });
}

async function pause({ page, variant }: Visit, bar: Locator): Promise<void> {
  await bar.getByRole("button", { name: text(variant, "music.pause"), exact: true }).first().click();
  await page.waitForFunction(() => navigator.mediaSession.playbackState === "paused");
}

/** Gives four stars in the view of the present track; the album shows them after a reload. */
async function rate(visit: Visit, bar: Locator): Promise<void> {
  const { page, variant } = visit;
  await bar.getByRole("button", { name: text(variant, "music.nowPlaying"), exact: true }).first().click();
  const now = visit.role("dialog", text(variant, "music.nowPlaying"));
  const stars = now.locator(".stars button");
  const rate = async (value: number) => {
    const stored = page.waitForResponse((it) => it.request().method() === "PUT" && it.url().endsWith(`/rating/${value}`));
    await stars.nth(3).click();
    assert.ok((await stored).ok());
  };
  // An earlier variant may have left its rating, which a second press removes.
  if ((await stars.nth(3).getAttribute("aria-pressed")) === "true") await rate(0);
  await rate(4);
  assert.equal(await stars.nth(3).getAttribute("aria-pressed"), "true");
  await visit.check("player-now");
  await page.keyboard.press("Escape");
  await now.waitFor({ state: "detached" });
  await page.reload();
  await visit.ready();
  // The list of tracks has the rating from the server, the player that of the kept queue.
  for (const place of ["main .stars[data-rated]", ".player .stars[data-rated]"]) await page.locator(place).first().waitFor({ state: "attached" });
}

/** Moves the last track of the queue up by keyboard. */
async function reorder(visit: Visit): Promise<void> {
  const { page, variant } = visit;
  const [first = "", second = "", third = ""] = album?.tracks ?? [];
  await visit.open("music/queue");
  await expectQueue(visit, { titles: [first, second, third], at: 0 });
  await visit.role("button", text(variant, "music.move", { title: third })).focus();
  await page.keyboard.press("ArrowUp");
  await expectQueue(visit, { titles: [first, third, second], at: 0 });
  await visit.check("player-queue");
}

/** Shuffles the queue, and restores its order. */
async function shuffle(visit: Visit): Promise<void> {
  const { page } = visit;
  const [first = "", second = "", third = ""] = album?.tracks ?? [];
  await page.keyboard.press("s");
  await expectQueue(visit, { isShuffled: true, at: 0 });
  await page.keyboard.press("s");
  await expectQueue(visit, { isShuffled: false, titles: [first, third, second], at: 0 });
}

/** Goes from the last track to the first while all are repeated, and plays one track twice. */
async function repeat(visit: Visit, bar: Locator): Promise<void> {
  const { page, variant } = visit;
  await page.keyboard.press("r");
  await expectQueue(visit, { repeat: "all" });
  for (const at of [1, 2, 0]) {
    await page.keyboard.press(".");
    await expectQueue(visit, { at });
  }
  await page.keyboard.press("r");
  await expectQueue(visit, { repeat: "one" });
  await bar.getByRole("button", { name: text(variant, "music.play"), exact: true }).first().click();
  await page.waitForFunction(() => navigator.mediaSession.playbackState === "playing");
  // Two jumps from the button lead to the last tenth of a second.
  for (const key of ["ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
  await page.waitForFunction(() => Number(document.querySelector<HTMLInputElement>(".player .range")?.value) < 4);
  await expectQueue(visit, { at: 0, repeat: "one" });
  assert.equal(await page.evaluate(() => navigator.mediaSession.playbackState), "playing");
}
