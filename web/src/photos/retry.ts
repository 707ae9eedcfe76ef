/** Returns the milliseconds to wait before a load is repeated for the `attempt`-th time, from 0. */
export function backoff(attempt: number, retryAfterSeconds: number | undefined): number {
  const grown = Math.min(60_000, 1000 * 2 ** attempt);
  return Math.max(grown, Math.min(60_000, (retryAfterSeconds ?? 0) * 1000));
}
