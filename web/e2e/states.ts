// Servers in other states than that of the journeys: new and empty, or closed to guests.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Browser } from "playwright-core";

import { text } from "./messages.ts";
import { USER, startServer } from "./server.ts";
import { type Variant, Visit } from "./visit.ts";

const PHONE: Variant = { name: "390-light", width: 390, scheme: "light", locale: "en", isProxied: false };

/** Runs a visit of a server in the window of a phone. After a failure, a screenshot is stored. */
async function visitServer(browser: Browser, port: number, artifacts: string, name: string, run: (visit: Visit) => Promise<void>): Promise<void> {
  const visit = await Visit.begin(browser, { root: `http://127.0.0.1:${port}/`, ...USER }, PHONE, artifacts);
  try {
    await run(visit);
  } catch (error) {
    await visit.abandon(name);
    throw error;
  }
  await visit.end();
}

/** A server with an empty library and no users says what to do next, and offers no form to the first visitor. */
export async function emptyServer(browser: Browser, program: string, artifacts: string): Promise<void> {
  const library = await mkdtemp(join(tmpdir(), "pelton-empty-"));
  const server = await startServer({ program, library, hasNoUser: true });
  try {
    await visitServer(browser, server.port, artifacts, "empty", async (visit) => {
      const { page } = visit;
      await visit.open("");
      await page.getByText(text(PHONE, "photos.emptyHelp")).waitFor();
      await visit.check("empty-photos");
      await visit.open("music");
      await page.getByText(text(PHONE, "music.emptyHint")).waitFor();
      await visit.check("empty-music");
      await visit.open("settings");
      await page.getByText("pelton user add NAME --admin").waitFor();
      assert.equal(await page.locator("input[type=password]").count(), 0, "a form without users");
      await visit.check("empty-settings");
      await visit.open("ops");
      await visit.check("empty-ops");
    });
  } finally {
    await server.stop();
    await rm(library, { recursive: true, force: true });
  }
}

/** While the library is scanned for the first time, the page counts the files, and then shows the pictures. */
export async function scanningServer(browser: Browser, program: string, library: string, artifacts: string): Promise<void> {
  const server = await startServer({ program, library });
  try {
    await visitServer(browser, server.port, artifacts, "scanning", async (visit) => {
      const { page } = visit;
      // The responses are those of a first scan, whose length depends on the disk.
      let isScanning = true;
      await page.route("**/api/timeline", (route) => (isScanning ? route.fulfill({ json: { generation: "0", months: [] } }) : route.continue()));
      const scan = { scanning: true, files: 0, reading: { done: 40_000, of: 100_000, perSecond: 20_000, secondsLeft: 3 } };
      await page.route("**/api/scan", (route) => (isScanning ? route.fulfill({ json: scan }) : route.continue()));
      await visit.open("");
      await page.getByText(text(PHONE, "scan.running")).waitFor();
      await page.getByText("40,000 of 100,000 files").waitFor();
      await visit.check("scanning");
      isScanning = false;
      await page.locator(".tile.ready").first().waitFor();
    });
  } finally {
    await server.stop();
  }
}

/** A server that requires a login shows a guest the form and nothing else; after the login, everything. */
export async function closedServer(browser: Browser, program: string, library: string, artifacts: string): Promise<void> {
  const server = await startServer({ program, library, flags: ["--require-login", "all"] });
  const root = `http://127.0.0.1:${server.port}/`;
  try {
    await visitServer(browser, server.port, artifacts, "closed", async (visit) => {
      const { page } = visit;
      visit.expectFailures(/\/-\/api\//);
      await page.goto(`${root}-/`);
      const dialog = page.getByRole("dialog");
      await dialog.waitFor();
      await visit.check("closed");
      assert.equal(await page.locator(".tile, .folder-card").count(), 0, "pictures for a guest");
      for (const path of ["photos/2023/motion.jpg", "-/api/timeline", "-/at/"]) {
        assert.equal((await page.request.get(root + path)).status(), 401, path);
      }
      await dialog.getByLabel(text(PHONE, "login.name")).fill(USER.user);
      await dialog.getByLabel(text(PHONE, "login.password")).fill(USER.password);
      await page.keyboard.press("Enter");
      await dialog.waitFor({ state: "detached" });
      // What failed before the login is loaded without another step of the user.
      await page.locator(".tile.ready").first().waitFor();
      await visit.check("closed-opened");
    });
  } finally {
    await server.stop();
  }
}
