import { type Browser, chromium } from "playwright-core";

/** Browser of Debian's package `chromium`. */
const PROGRAM = "/usr/bin/chromium";

/** Starts the browser. Its own sandbox needs privileges that a container may lack. */
export async function launch(flags: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: PROGRAM, args: ["--no-sandbox", "--disable-dev-shm-usage", ...flags] });
}
