import { signal } from "@preact/signals";

import { pagePath } from "./base.ts";

/** Address of a view: the path below `/-/` without slashes at its ends, and the query. */
export interface Address {
  /** Percent-encoded path, such as `photos/2019/a.jpg`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** Paths below `/-/` that the server answers itself; links to them leave the page. */
const SERVED = /^(api|app|at|cover|file|share|plain|metrics|live|profile|ready|status|iiif)(\/|$)/;

/** Returns the address that a URL of the page stands for, or `null` if it is not one. */
export function addressOf(location: { pathname: string; search: string }): Address | null {
  if (!location.pathname.startsWith(pagePath)) return null;
  const path = location.pathname.slice(pagePath.length).replace(/^\/+|\/+$/g, "");
  return SERVED.test(path) ? null : { path, query: new URLSearchParams(location.search) };
}

const EMPTY: Address = { path: "", query: new URLSearchParams() };

/** Address of the view that is shown. */
export const address = signal<Address>(EMPTY);

/** Returns the URL of a view, for links. */
export function href(path: string, query?: Record<string, string>): string {
  const search = new URLSearchParams(query);
  return pagePath + path + (search.size > 0 ? `?${search}` : "");
}

/** Shows the view at `path`, and adds it to the history unless `replace` is set. */
export function navigate(path: string, options: { replace?: boolean; query?: Record<string, string> } = {}): void {
  const target = href(path, options.query);
  if (options.replace) history.replaceState(history.state, "", target);
  else history.pushState(null, "", target);
  follow();
}

/** Updates `address` from the location of the window. */
function follow(): void {
  address.value = addressOf(location) ?? EMPTY;
}

/**
 * Starts to follow the history, and lets links to views change the view instead of the document.
 */
export function startRouter(): void {
  follow();
  addEventListener("popstate", follow);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (!addressOf(link) || isFragment(link)) return;
    event.preventDefault();
    if (link.href !== location.href) history.pushState(null, "", link.href);
    follow();
  });
}

/** Returns whether a link leads to an element of the present view, such as the skip link's. */
function isFragment(link: HTMLAnchorElement): boolean {
  return link.hash !== "" && link.pathname === location.pathname && link.search === location.search;
}
