// Browsers without JavaScript: the shell links to pages that do not need any.

import assert from "node:assert/strict";

import type { Browser } from "playwright-core";

import { watchOrigins } from "./visit.ts";

/** Follows the three links of the shell without JavaScript. @throws Error if one leads nowhere */
export async function withoutScript(browser: Browser, root: string): Promise<void> {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const failures: string[] = [];
  watchOrigins(context, [new URL(root).origin], failures);
  try {
    const page = await context.newPage();
    await page.goto(`${root}-/`);
    const links = await page.locator("noscript a, main.plain a").evaluateAll((found) => found.map((link) => (link as HTMLAnchorElement).href));
    assert.equal(links.length, 3, "the shell has three links");
    for (const link of links) {
      assert.ok(link.startsWith(`${root}-/`), `${link} is below ${root}`);
      const response = await page.goto(link);
      assert.equal(response?.status(), 200, link);
      assert.ok((await page.locator("body a[href]").count()) > 0, `${link} has links`);
    }
    assert.deepEqual(failures, []);
  } finally {
    await context.close();
  }
}
