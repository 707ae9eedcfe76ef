import { stored } from "./settings.ts";

/**
 * URL of the server's root, with a trailing slash. The page is served at `ROOT/-/app/HASH/`, and a
 * proxy may serve the root below a path of its own.
 */
export const root = new URL("../../../", import.meta.url);

/** Path of the page below the root's path, with slashes at both ends: `/-/`. */
export const pagePath = new URL("-/", root).pathname;

/**
 * Prefix of the targets of library files, as `GET /-/api/session` gave it: `/-/file` if files need
 * a login, because the session cookie counts only below `/-/`. The prefix is stored, so that the
 * first pictures need not wait for the session.
 */
export const filesPrefix = stored("files", "", (value): value is string => value === "" || value === "/-/file");

/**
 * Returns the URL of a target of the server, which begins with a slash, such as `/a/b.jpg?w=480`.
 * Files of the library get the prefix that the user needs.
 */
export function url(target: string): string {
  return root.pathname.replace(/\/$/, "") + withPrefix(target, filesPrefix.value);
}

/** Returns `target` with the prefix of files, if it is a file of the library. */
export function withPrefix(target: string, prefix: string): string {
  return /^\/(-|rest)([/?]|$)/.test(target) ? target : prefix + target;
}

/** Decodes a percent-encoded part of a path. Returns the part itself if its escapes are invalid. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
