// The browser suite. `cargo xtask conform page` starts it; the last line has the
// counts, in the form of Rust's test programs.
//
//     node --import ./test/register.mjs e2e/main.ts --program PELTON --library DIR --artifacts DIR
//         [--smoke] [--variant NAME] [--url URL] [NAME…]
//
// `--variant` names the one variant of the journeys to be run, such as `390-dark`. `--url` names the
// root of a running server to be used instead of the program. Names choose journeys, or `plain`,
// `zoom`, `empty`, `scanning`, `closed` or `lighthouse`. `readme` alone takes the pictures of README.md instead.

import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import type { Browser } from "playwright-core";

import { writeArchive } from "./archive.ts";
import { launch } from "./browser.ts";
import { JOURNEYS, type Journey } from "./journeys.ts";
import { writeMusic } from "./music.ts";
import { drawPictures } from "./pictures.ts";
import { withoutScript } from "./plain.ts";
import { startProxy } from "./proxy.ts";
import { takePictures } from "./readme.ts";
import { USER, startServer } from "./server.ts";
import { closedServer, emptyServer, scanningServer } from "./states.ts";
import { type Site, type Variant, Visit } from "./visit.ts";
import { deepZoom } from "./zoom.ts";

/** One test: a journey in one variant, or another check. It may return a remark. */
interface Test {
  readonly name: string;
  readonly run: () => Promise<string | void>;
}

const WIDTHS = [390, 820, 1400] as const;
const SCHEMES = ["light", "dark"] as const;

function variant(width: number, scheme: Variant["scheme"], locale = "en", isProxied = false): Variant {
  const name = [width, scheme, ...(locale === "en" ? [] : [locale]), ...(isProxied ? ["proxied"] : [])].join("-");
  return { name, width, scheme, locale, isProxied };
}

const ALL: readonly Variant[] = [
  ...WIDTHS.flatMap((width) => SCHEMES.map((scheme) => variant(width, scheme))),
  variant(390, "dark", "ar"),
  variant(1400, "light", "ar"),
  variant(820, "light", "de", true),
];

/** Few variants that differ in everything. Journeys take the two sets in turn. */
const SMOKE: readonly (readonly Variant[])[] = [
  [variant(390, "light"), variant(1400, "dark"), variant(820, "light", "ar", true)],
  [variant(390, "dark", "ar"), variant(1400, "light"), variant(820, "dark", "de", true)],
];

/** Returns the variants in which the command line asks for a journey. */
function variantsOf(journey: Journey): readonly Variant[] {
  const set = flags.smoke ? SMOKE[JOURNEYS.indexOf(journey) % SMOKE.length] : ALL;
  return (set ?? []).filter((it) => !flags.variant || it.name === flags.variant);
}

const { values: flags, positionals: named } = parseArgs({
  allowPositionals: true,
  options: {
    program: { type: "string", default: "" },
    library: { type: "string", default: "" },
    artifacts: { type: "string" },
    url: { type: "string" },
    variant: { type: "string" },
    smoke: { type: "boolean", default: false },
  },
});

/** The server under test as seen directly, and through a proxy that replaces or keeps the field Host. */
type Sites = Readonly<Record<"direct" | "proxied" | "hosted", Site>>;

function siteOf(sites: Sites, { isProxied }: Variant, { logsIn }: Journey): Site {
  if (!isProxied) return sites.direct;
  return logsIn ? sites.hosted : sites.proxied;
}

/** Returns all tests that the command line asks for. */
function tests(browser: Browser, sites: Sites, artifacts: string): Test[] {
  const isWanted = (name: string) => named.length === 0 || named.includes(name);
  const journeys = JOURNEYS.filter((it) => isWanted(it.name) && (it.isSmoke || !flags.smoke));
  const found: Test[] = journeys.flatMap((journey) =>
    variantsOf(journey).map((it) => ({
      name: `${journey.name} ${it.name}`,
      run: () => travel(browser, siteOf(sites, it, journey), it, journey, artifacts),
    })),
  );
  if (isWanted("plain")) {
    for (const [name, site] of Object.entries(sites)) found.push({ name: `plain ${name}`, run: () => withoutScript(browser, site.root) });
  }
  if (isWanted("zoom")) found.push({ name: "zoom", run: () => deepZoom(browser, sites.direct.root, artifacts) });
  if (isWanted("empty") && !flags.url) found.push({ name: "empty", run: () => emptyServer(browser, flags.program, artifacts) });
  if (isWanted("scanning") && !flags.url) {
    found.push({ name: "scanning", run: () => scanningServer(browser, flags.program, flags.library, artifacts) });
  }
  if (isWanted("closed") && !flags.url) {
    found.push({ name: "closed", run: () => closedServer(browser, flags.program, flags.library, artifacts) });
  }
  if (isWanted("lighthouse")) {
    const run = async () => (await import("./lighthouse.ts")).measure(`${sites.direct.root}-/`, "start", artifacts);
    found.push({ name: "lighthouse", run });
  }
  return found;
}

async function travel(browser: Browser, site: Site, it: Variant, journey: Journey, artifacts: string): Promise<string | void> {
  const visit = await Visit.begin(browser, site, it, artifacts);
  let remark: string | void;
  try {
    remark = await journey.run(visit);
  } catch (error) {
    await visit.abandon(journey.name);
    throw error;
  }
  await visit.end();
  return remark;
}

/** Time after which a test has failed, in milliseconds. */
const TEST_MS = 240_000;

/** Rejects after `TEST_MS`. */
function late(): Promise<never> {
  return new Promise((_, reject) => setTimeout(() => reject(new Error(`not finished after ${TEST_MS / 1000} s`)), TEST_MS).unref());
}

/** Runs a test once, and prints its result. Returns whether it passed. */
async function attempt({ name, run }: Test, failure: string): Promise<boolean> {
  const start = Date.now();
  const seconds = () => `${((Date.now() - start) / 1000).toFixed(1)} s`;
  try {
    const remark = await Promise.race([run(), late()]);
    console.log(`ok      ${name} (${seconds()})${remark ? `: ${remark}` : ""}`);
    return true;
  } catch (error) {
    console.log(`${failure}  ${name} (${seconds()})\n${String(error instanceof Error ? error.stack : error).replace(/^/gm, "        ")}`);
    return false;
  }
}

/**
 * Runs the tests one after another, and returns the number of those that failed.
 *
 * A test that fails runs once more. If it passes then, it counts as passed, and the last line names
 * it: its cause is in the page or in the journey, and has yet to be found.
 */
async function runAll(list: readonly Test[]): Promise<number> {
  const flaky: string[] = [];
  let failed = 0;
  for (const test of list) {
    if (await attempt(test, "again ")) continue;
    if (await attempt(test, "FAILED")) flaky.push(test.name);
    else failed += 1;
  }
  const remark = flaky.length > 0 ? `; passed only the second time: ${flaky.join(", ")}` : "";
  console.log(`test result: ${failed === 0 ? "ok" : "FAILED"}. ${list.length - failed} passed; ${failed} failed; journeys through the page${remark}`);
  return failed;
}

/** Runs the suite against a server that runs already, or against a new one with a generated library. */
async function main(): Promise<number> {
  const { artifacts, url } = flags;
  if (!artifacts) throw new Error("--artifacts is missing");
  await mkdir(artifacts, { recursive: true });
  for (const name of await readdir(artifacts)) {
    if (/\.(png|html)$/.test(name)) await rm(join(artifacts, name));
  }
  const browser = await launch();
  if (named.length === 1 && named[0] === "readme") {
    console.log(await takePictures(browser, flags.program, `${flags.library}-readme`).finally(() => browser.close()));
    return 0;
  }
  const [replacing, keeping] = [await startProxy(false), await startProxy(true)];
  let stop = async () => {};
  try {
    let root = url?.replace(/\/*$/, "/");
    if (root === undefined) {
      await drawPictures(browser, flags.library);
      await writeArchive(browser, flags.library);
      await writeMusic(flags.library);
      const server = await startServer({ program: flags.program, library: flags.library });
      stop = server.stop;
      root = `http://127.0.0.1:${server.port}/`;
    }
    for (const proxy of [replacing, keeping]) proxy.connect(Number(new URL(root).port));
    const site = (at: string): Site => ({ root: at, ...USER });
    const sites = { direct: site(root), proxied: site(replacing.root), hosted: site(keeping.root) };
    return await runAll(tests(browser, sites, artifacts));
  } finally {
    await browser.close();
    replacing.close();
    keeping.close();
    await stop();
  }
}

// A step that is not awaited any more, because an earlier one failed, must not end the suite.
process.on("unhandledRejection", (error) => console.log(`        unhandled: ${String(error)}`));
process.exitCode = (await main()) === 0 ? 0 : 1;
