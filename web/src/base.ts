/**
 * URL of the server's root, with a trailing slash. The page is served at `ROOT/-/app/HASH/`, and a
 * proxy may serve the root below a path of its own.
 */
export const root = new URL("../../../", import.meta.url);

/** Path of the page below the root's path, with slashes at both ends: `/-/`. */
export const pagePath = new URL("-/", root).pathname;

/** Returns the URL of a target of the server, which begins with a slash, such as `/a/b.jpg?w=480`. */
export function url(target: string): string {
  return root.pathname.replace(/\/$/, "") + target;
}
