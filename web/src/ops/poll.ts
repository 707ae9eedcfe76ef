/** Time between two requests while the page is visible, in milliseconds. */
const VISIBLE_MS = 2000;
const HIDDEN_MS = 10_000;
const LONGEST_MS = 60_000;
/** Age from which the shown state is called stale, in milliseconds. */
const STALE_MS = 5000;

/** Returns the time until the next request; it doubles with every failure in a row. */
export function pause(failures: number, isHidden: boolean): number {
  return Math.min(LONGEST_MS, (isHidden ? HIDDEN_MS : VISIBLE_MS) * 2 ** Math.min(failures, 10));
}

/** Returns the age of the shown state in whole seconds if it is stale, else `null`. */
export function staleSeconds(receivedMs: number, nowMs: number): number | null {
  const age = nowMs - receivedMs;
  return age < STALE_MS ? null : Math.floor(age / 1000);
}
