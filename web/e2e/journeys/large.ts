import assert from "node:assert/strict";

import type { Page, Route } from "playwright-core";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { ALBUMS } from "../music.ts";
import type { Visit } from "../visit.ts";

const [album] = ALBUMS;

/** Number of tracks that the album gets. */
const TRACKS = 1200;
/** Number of albums that the artist gets, each with the tracks of the real one. */
const ARTIST_ALBUMS = 510;
/** Largest number of items in a response of the API. */
const PAGE = 500;
/** Largest number of rows or cards in the document. */
const SHOWN_MAX = 100;

type Item = Readonly<Record<string, unknown>>;

/** Album with 1,200 tracks, artist with 510 albums: all are shown, few at a time, and played. */
export const large: Journey = {
  name: "large",
  isSmoke: false,
  logsIn: false,
  run: async (visit) => {
    assert.ok(album);
    const { page, variant } = visit;
    await visit.open("music/albums");
    const card = page.getByRole("main").getByRole("link", { name: `${album.title} ${album.artist}` });
    const path = new URL((await card.getAttribute("href")) ?? "", page.url()).pathname.replace(/.*\/-\//, "");
    const offsets: number[] = [];
    await page.route(/\/api\/albums\/al-[0-9a-f]+\?/, (route) => fulfill(route, (whole) => enlarge(whole, "tracks", TRACKS), offsets));
    await visit.open(path);
    await page.getByRole("heading", { name: album.title, level: 1 }).waitFor();
    assert.deepEqual(offsets, [0, PAGE, 2 * PAGE]);
    await visit.check("large-album");
    await reach(page, `${TRACKS}. ${album.tracks[(TRACKS - 1) % album.tracks.length]}`);
    await visit.check("large-album-end");
    await page.keyboard.press("Home");
    await playAll(visit, TRACKS);
    await page.unroute(/\/api\/albums\/al-[0-9a-f]+\?/);
    await page.route(/\/api\/artists\/ar-[0-9a-f]+\?/, (route) => fulfill(route, (whole) => enlarge(whole, "albums", ARTIST_ALBUMS), []));
    await page.getByRole("main").getByRole("link", { name: album.artist, exact: true }).first().click();
    await page.getByRole("heading", { name: album.artist, level: 1 }).waitFor();
    await visit.check("large-artist");
    await reach(page, `${ARTIST_ALBUMS}. ${album.title}`);
    await page.keyboard.press("Home");
    await playAll(visit, ARTIST_ALBUMS * album.tracks.length);
    await visit.role("region", text(variant, "music.player")).getByText(album.tracks[0] ?? "", { exact: true }).first().waitFor();
  },
};

/** Responds with the part of an enlarged object that the request asks for, as the server does. */
async function fulfill(route: Route, change: (whole: Item) => Item, offsets: number[]): Promise<void> {
  const url = new URL(route.request().url());
  const offset = Number(url.searchParams.get("offset"));
  offsets.push(offset);
  const limit = Math.min(PAGE, Number(url.searchParams.get("limit") ?? PAGE));
  url.search = "";
  const response = await route.fetch({ url: url.href });
  const changed = Object.entries(change((await response.json()) as Item));
  const part = changed.map(([name, value]) => [name, name === "tracks" || name === "albums" ? (value as Item[]).slice(offset, offset + limit) : value]);
  await route.fulfill({ response, json: Object.fromEntries(part) });
}

/**
 * Returns an object with `count` items in its list. Their titles have numbers, and their files are
 * those of the real items.
 */
function enlarge(whole: Item, list: "tracks" | "albums", count: number): Item {
  const real = whole[list] as Item[];
  const items = Array.from({ length: count }, (_, index) => {
    const item = real[index % real.length] ?? {};
    const title = `${index + 1}. ${item["title"]}`;
    // Cards of albums keep the id, by which the tracks are loaded.
    return list === "tracks" ? { ...item, id: `tr-${index.toString(16).padStart(16, "0")}`, number: index + 1, title } : { ...item, title };
  });
  return { ...whole, [list]: items, [list === "tracks" ? "trackCount" : "albumCount"]: count };
}

/** Scrolls to the last item of the list, while only few items are in the document. */
async function reach(page: Page, title: string): Promise<void> {
  const last = page.getByRole("main").locator(".virtual").getByText(title, { exact: true });
  assert.equal(await last.count(), 0);
  await page.keyboard.press("End");
  await last.waitFor();
  const shown = await page.getByRole("main").locator(".virtual [aria-posinset]").count();
  assert.ok(shown > 0 && shown < SHOWN_MAX, `${shown} items in the document`);
}

/** Plays the list of the view, and waits until the queue has `count` tracks. */
async function playAll({ page, variant }: Visit, count: number): Promise<void> {
  await page.getByRole("main").getByRole("button", { name: text(variant, "music.play"), exact: true }).first().click();
  await page.waitForFunction((wanted) => {
    const queue: unknown = JSON.parse(localStorage.getItem("pelton.music.queue") ?? "{}");
    const { entries } = queue as { entries?: { track: { id: string } }[] };
    return entries?.length === wanted;
  }, count);
}
