// One visit of the page by one journey: a tab of the browser, and the rules that hold in all tabs.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from "playwright-core";

/** Circumstances of a visit. */
export interface Variant {
  readonly name: string;
  /** Width of the window in CSS pixels. */
  readonly width: number;
  readonly scheme: "light" | "dark";
  /** Language of the browser. */
  readonly locale: string;
  /** True if the page is visited below a path of a proxy. */
  readonly isProxied: boolean;
}

/** URLs and people of the server under test. */
export interface Site {
  /** URL of the server's root, with a trailing slash. */
  readonly root: string;
  readonly user: string;
  readonly password: string;
}

/** Largest layout shift of a view (web.dev/cls), summed from its first paint on. */
const SHIFT_MAX = 0.02;
/** Widths below this one are those of phones. */
const PHONE = 600;
/** Least width and height of a target of a finger, in CSS pixels. */
const TARGET_MIN = 44;
/** Time within which a view has loaded, in milliseconds. */
const READY_MS = 30_000;

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

interface Seen {
  shift: number;
  readonly violations: string[];
}

type Observed = typeof globalThis & { seenByTest: Seen };

/** Records layout shifts and violations of the Content-Security-Policy. Runs in the page. */
function observe(): void {
  const seen: Seen = { shift: 0, violations: [] };
  (globalThis as Observed).seenByTest = seen;
  document.addEventListener("securitypolicyviolation", (event) => {
    seen.violations.push(`${event.violatedDirective} blocked ${event.blockedURI} (${event.sourceFile}:${event.lineNumber})`);
  });
  interface Shift extends PerformanceEntry {
    readonly value: number;
    readonly hadRecentInput: boolean;
  }
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as Shift[]) {
      if (!entry.hadRecentInput) seen.shift += entry.value;
    }
  });
  observer.observe({ type: "layout-shift", buffered: true });
}

/**
 * Returns the visible targets that are too small for a finger. Links in a text are as high as its
 * lines, and the target of a field includes its label. Runs in the page.
 */
function smallTargets(min: number): string[] {
  const found: string[] = [];
  const scope = document.querySelector("dialog:modal") ?? document;
  for (const element of scope.querySelectorAll("a[href], button, input, select, summary, textarea, [role=slider], [role=tab]")) {
    const style = getComputedStyle(element);
    if (style.display === "inline" || style.visibility === "hidden" || style.pointerEvents === "none" || element.matches(":disabled, .skip")) continue;
    const boxes = [element, element.closest("label, [role=search]")].flatMap((it) => (it ? [it.getBoundingClientRect()] : []));
    // A pseudo-element may extend the target.
    const { position, width: aroundWidth, height: aroundHeight } = getComputedStyle(element, "::after");
    if (position === "absolute") boxes.push(new DOMRect(0, 0, parseFloat(aroundWidth) || 0, parseFloat(aroundHeight) || 0));
    const [width, height] = [Math.max(...boxes.map((box) => box.width)), Math.max(...boxes.map((box) => box.height))];
    // A box without an area is not shown.
    if (width * height > 0 && Math.min(width, height) < min) found.push(`${element.outerHTML.slice(0, 120)}: ${width} × ${height}`);
  }
  return found;
}

/** Adds a line to `failures` for each request of a tab to an origin other than these. */
export function watchOrigins(context: BrowserContext, origins: readonly string[], failures: string[]): void {
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (/^https?:$/.test(url.protocol) && !origins.includes(url.origin)) failures.push(`request to another origin: ${url}`);
  });
}

/** Tab of the browser in which a journey happens. */
export class Visit {
  /** Failures of rules that hold on every page, collected as they happen. */
  private readonly failures: string[] = [];
  private readonly expected: RegExp[] = [];

  private constructor(
    readonly page: Page,
    readonly context: BrowserContext,
    readonly site: Site,
    readonly variant: Variant,
    private readonly artifacts: string,
  ) {}

  /** Opens a tab without cookies and storage. */
  static async begin(browser: Browser, site: Site, variant: Variant, artifacts: string): Promise<Visit> {
    const context = await browser.newContext({
      viewport: { width: variant.width, height: variant.width < PHONE ? 844 : 900 },
      colorScheme: variant.scheme,
      locale: variant.locale,
      hasTouch: variant.width < PHONE,
      reducedMotion: "reduce",
      acceptDownloads: true,
    });
    context.setDefaultTimeout(READY_MS);
    await context.addInitScript(observe);
    const visit = new Visit(await context.newPage(), context, site, variant, artifacts);
    visit.watch();
    return visit;
  }

  private watch(): void {
    this.watchOrigins(this.context);
    this.page.on("pageerror", (error) => this.failures.push(`exception: ${error.stack ?? error.message}`));
    this.page.on("console", (message) => {
      const place = message.location().url;
      const isExpected = this.expected.some((pattern) => pattern.test(place));
      if (message.type() === "error" && !isExpected) this.failures.push(`console: ${message.text()} (${place})`);
    });
  }

  private watchOrigins(context: BrowserContext): void {
    watchOrigins(context, [new URL(this.site.root).origin], this.failures);
  }

  /** Opens a tab of another person, without cookies. The caller closes its context. */
  async openOther(options: BrowserContextOptions = {}): Promise<Page> {
    const browser = this.context.browser();
    assert.ok(browser);
    const context = await browser.newContext({ colorScheme: this.variant.scheme, ...options });
    this.watchOrigins(context);
    return context.newPage();
  }

  /** Allows requests to fail whose URL matches; the browser reports a failed request as an error. */
  expectFailures(pattern: RegExp): void {
    this.expected.push(pattern);
  }

  /** Logs the site's user, an admin, in without the form. Views that are opened later know the user. */
  async logIn(): Promise<void> {
    const { root, user, password } = this.site;
    // The server takes the path of the cookie from the page that the request comes from.
    const headers = { origin: new URL(root).origin, referer: `${root}-/` };
    const response = await this.context.request.post(`${root}-/api/session`, { data: { name: user, password }, headers });
    assert.equal(response.status(), 200, "status of the login");
  }

  /** Opens a view by its path below `/-/`, such as `settings`. */
  async open(path: string): Promise<void> {
    await this.finishDocument();
    const response = await this.page.goto(`${this.site.root}-/${path}`);
    assert.equal(response?.status(), 200, `status of ${path}`);
    await this.ready();
  }

  /** Waits until the view has loaded. */
  async ready(): Promise<void> {
    await this.page.waitForSelector("main > :not(.loading)");
    await this.page.waitForFunction(() => !document.querySelector("main [aria-busy=true]"));
  }

  /** Returns an element by its role, and by its name in the language of the visit. */
  role(role: Parameters<Page["getByRole"]>[0], name: string | RegExp): Locator {
    return this.page.getByRole(role, { name, exact: typeof name === "string" });
  }

  /**
   * Checks the rules that hold in every state of the page, and stores a screenshot.
   *
   * @param state name of the state, for the screenshot and for messages
   */
  async check(state: string): Promise<void> {
    const file = join(this.artifacts, `${state}-${this.variant.name}.png`);
    await this.page.screenshot({ path: file, animations: "disabled" });
    const overflow = await this.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (overflow > 0) this.failures.push(`${state}: the page is ${overflow} px wider than the window`);
    if (this.variant.width < PHONE) {
      for (const target of await this.page.evaluate(smallTargets, TARGET_MIN)) this.failures.push(`${state}: small target: ${target}`);
    }
    for (const violation of await this.accessibility()) this.failures.push(`${state}: ${violation}`);
  }

  /** Returns the findings of axe-core, one line each. */
  private async accessibility(): Promise<string[]> {
    await this.page.evaluate(await readFile(AXE, "utf8"));
    return this.page.evaluate(async () => {
      const { axe } = globalThis as typeof globalThis & { axe: typeof import("axe-core") };
      const found = await axe.run(document, { resultTypes: ["violations"] });
      const lines = found.violations.flatMap((rule) =>
        rule.nodes.map((node) => `axe: ${rule.id}: ${node.target.join(" ")}: ${node.failureSummary?.replace(/\s+/g, " ") ?? rule.help}`),
      );
      return lines;
    });
  }

  /** Collects what the present document has recorded, before another replaces it. */
  private async finishDocument(): Promise<void> {
    if (this.page.url() === "about:blank") return;
    const { shift, violations } = await this.page.evaluate(() => (globalThis as Observed).seenByTest);
    this.failures.push(...violations.map((line) => `policy: ${line}`));
    const where = this.page.url().slice(this.site.root.length);
    if (shift > SHIFT_MAX) this.failures.push(`${where}: layout shifts by ${shift.toFixed(3)}, more than ${SHIFT_MAX}`);
  }

  /** Closes the tab after a failure, and stores what it showed. */
  async abandon(journey: string): Promise<void> {
    const file = join(this.artifacts, `FAILED-${journey}-${this.variant.name}.png`);
    await this.page.screenshot({ path: file }).catch(() => undefined);
    await this.context.close();
    for (const failure of this.failures) console.log(`        ${failure}`);
  }

  /** Closes the tab. @throws Error that lists what was wrong */
  async end(): Promise<void> {
    await this.finishDocument();
    await this.context.close();
    assert.deepEqual([...new Set(this.failures)], []);
  }
}
