/** Bounds of a bucket of durations, in microseconds. The last bucket has no upper bound. */
export interface Bounds {
  readonly low: number;
  readonly high: number | null;
}

/**
 * Returns the bucket in which the quantile `q` lies by nearest rank, or `null` without responses.
 * Nothing is interpolated: a histogram does not know where in its bucket a duration was.
 */
export function quantileBucket(counts: readonly number[], q: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  // Products such as 0.99 · 100 are not exact.
  const rank = Math.max(1, Math.ceil(total * q - 1e-9));
  let reached = 0;
  for (const [bucket, count] of counts.entries()) {
    reached += count;
    if (reached >= rank) return bucket;
  }
  return null;
}

/** Returns the bounds of a bucket. */
export function boundsOf(boundsUs: readonly number[], bucket: number): Bounds {
  return { low: bucket === 0 ? 0 : (boundsUs[bucket - 1] ?? 0), high: boundsUs[bucket] ?? null };
}

/**
 * Returns the number of responses per bucket since the totals `before`. Returns `now` if `before`
 * is missing, or comes from an earlier run of the server.
 */
export function between(before: readonly number[] | undefined, now: readonly number[]): readonly number[] {
  if (!before || now.some((count, bucket) => count < (before[bucket] ?? 0))) return now;
  return now.map((count, bucket) => count - (before[bucket] ?? 0));
}
