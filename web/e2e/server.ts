// The shipped program, as server of a suite.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** User of the suite's server. */
export const USER = { user: "ann", password: "correct horse battery" };

/** Time within which a library of 100,000 generated pictures is indexed, in milliseconds. */
const SCAN_MS = 300_000;

export interface Server {
  readonly port: number;
  readonly stop: () => Promise<void>;
}

interface Options {
  readonly program: string;
  readonly library: string;
  /** True to add no user. */
  readonly hasNoUser?: boolean;
  /** More flags of `pelton serve`. */
  readonly flags?: readonly string[];
}

/** Starts the server with one admin and an empty data directory, and waits for its first scan. */
export async function startServer({ program, library, hasNoUser = false, flags: more = [] }: Options): Promise<Server> {
  const data = await mkdtemp(join(tmpdir(), "pelton-page-"));
  if (!hasNoUser) {
    const added = spawnSync(program, ["user", "add", USER.user, "--admin", "--data", data], { input: `${USER.password}\n`, encoding: "utf8" });
    if (added.status !== 0) throw new Error(`pelton user add: ${added.stderr}`);
  }
  const flags = ["--listen", "127.0.0.1:0", "--images-iiif", "on", "--data", data, ...more];
  const child = spawn(program, ["serve", ...flags, library], { stdio: ["ignore", "ignore", "pipe"] });
  const stop = async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    await rm(data, { recursive: true, force: true });
  };
  try {
    const port = await announcedPort(child);
    await scanned(port);
    return { port, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Returns the port in the line of the log that says where the library is served. */
async function announcedPort(child: ChildProcess): Promise<number> {
  const lines: string[] = [];
  if (!child.stderr) throw new Error("stderr is piped");
  const log = createInterface({ input: child.stderr });
  return new Promise((resolve, reject) => {
    log.on("line", (line) => {
      const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(line);
      if (found) resolve(Number(found[1]));
      else lines.push(line);
    });
    log.on("close", () => reject(new Error(`the server ended:\n${lines.join("\n")}`)));
    child.on("error", reject);
  });
}

/** Waits until the first scan of the library has ended. */
async function scanned(port: number): Promise<void> {
  const end = Date.now() + SCAN_MS;
  while (Date.now() < end) {
    const login = Buffer.from(`${USER.user}:${USER.password}`).toString("base64");
    // A server without users refuses every password.
    let response = await fetch(`http://127.0.0.1:${port}/-/api/scan`, { headers: { authorization: `Basic ${login}` } });
    if (response.status === 401) response = await fetch(`http://127.0.0.1:${port}/-/api/scan`);
    const scan = (await response.json()) as { scanning: boolean; ended?: string };
    if (!scan.scanning && scan.ended) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the library is not indexed after ${SCAN_MS / 1000} s`);
}
