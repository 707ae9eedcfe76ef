import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { ALBUMS } from "../music.ts";
import { playAlbum } from "../player.ts";

const [album] = ALBUMS;

/**
 * Changes quality and ReplayGain during playback. Playback continues as Opus in which one can seek,
 * and a reload keeps both settings.
 */
export const quality: Journey = {
  name: "quality",
  isSmoke: false,
  logsIn: false,
  run: async (visit) => {
    const { page, variant } = visit;
    assert.ok(album);
    const player = await playAlbum(visit, album);
    await player.getByRole("button", { name: text(variant, "music.nowPlaying"), exact: true }).first().click();
    const now = visit.role("dialog", text(variant, "music.nowPlaying"));
    // The player may prepare the second track as soon as the first one plays.
    const tracks = new Set<string>();
    const second = page.waitForRequest((request) => {
      const { pathname, search } = new URL(request.url());
      if (pathname.endsWith("/stream") && search.includes("bitrate=64")) tracks.add(pathname);
      return tracks.size > 1;
    });
    const answer = page.waitForResponse((response) => response.url().includes("/stream?bitrate=64"));
    await now.getByRole("combobox", { name: text(variant, "music.quality"), exact: true }).selectOption("64");
    const { headers, status } = await answer.then((it) => ({ headers: it.headers(), status: it.status() }));
    assert.match(headers["content-type"] ?? "", /^audio\/ogg/);
    assert.equal(status, 206, "a player can seek in a transcoded track");
    await now.getByRole("button", { name: text(variant, "music.pause"), exact: true }).waitFor();
    await now.getByRole("combobox", { name: text(variant, "music.gain"), exact: true }).selectOption("album");
    await visit.check("quality");
    const seek = now.getByRole("slider", { name: text(variant, "music.seek"), exact: true });
    await seek.focus();
    await page.keyboard.press("End");
    // The next track begins, in the same quality.
    await now.getByRole("heading", { name: album.tracks[1] ?? "", exact: true }).waitFor();
    await second;
    await page.reload();
    await visit.ready();
    await player.getByRole("button", { name: text(variant, "music.nowPlaying"), exact: true }).first().click();
    assert.equal(await now.getByRole("combobox", { name: text(variant, "music.quality"), exact: true }).inputValue(), "64");
    assert.equal(await now.getByRole("combobox", { name: text(variant, "music.gain"), exact: true }).inputValue(), "album");
    // If the server is too busy to transcode, the file itself is played.
    visit.expectFailures(/\/stream\?/);
    await page.route("**/stream?*", (route) => route.fulfill({ status: 429 }));
    const before = await seek.inputValue();
    const file = page.waitForRequest((request) => /\/music\/[^?]*\.(flac|mp3|opus)$/.test(request.url()));
    await now.getByRole("button", { name: text(variant, "music.play"), exact: true }).click();
    await file;
    const moved = (before: string) => document.querySelector<HTMLInputElement>(".now .range")?.value !== before;
    await page.waitForFunction(moved, before);
  },
};
