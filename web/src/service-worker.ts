/// <reference lib="webworker" />
/*
 * Caches the shell of the page, so that the page opens without a connection and shows that it has
 * none. Pictures, music and the API are never cached here: the browser's HTTP cache does that.
 */

declare const self: ServiceWorkerGlobalScope;
export type {};

const CACHE = "shell";

/** Path below which the server serves the page, with slashes at both ends. */
const page = new URL("./", self.location.href).pathname;

self.addEventListener("install", (event) => {
  event.waitUntil(keepShell().then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(self.clients.claim());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { pathname, origin } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin) return;
  if (request.mode === "navigate" && pathname.startsWith(page)) {
    event.respondWith(fetch(request).catch(async () => (await keptShell()) ?? Response.error()));
  } else if (pathname.startsWith(`${page}app/`)) {
    event.respondWith(asset(request));
  }
});

/** Stores the shell, and removes the assets of earlier versions. */
async function keepShell(): Promise<void> {
  const cache = await caches.open(CACHE);
  const shell = await fetch(page, { cache: "no-cache" });
  if (!shell.ok) return;
  const text = await shell.clone().text();
  for (const request of await cache.keys()) {
    const { pathname } = new URL(request.url);
    const folder = pathname.slice(page.length).split("/").slice(0, 2).join("/");
    if (!text.includes(`${folder}/`)) await cache.delete(request);
  }
  await cache.put(page, shell);
}

async function keptShell(): Promise<Response | undefined> {
  return (await caches.open(CACHE)).match(page);
}

/** Returns an asset of the page from the cache. If the cache lacks it, loads and caches it. */
async function asset(request: Request): Promise<Response> {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request);
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok) await cache.put(request, response.clone());
  return response;
}
