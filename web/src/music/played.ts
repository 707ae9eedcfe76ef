/** Part of a track that has really been heard. */
export interface Heard {
  /** Milliseconds that have been heard; repeated parts count again. */
  readonly ms: number;
  /** Position up to which the track has been followed, in milliseconds. */
  readonly positionMs: number;
  /** True once the play has been recorded. */
  readonly isCounted: boolean;
}

/** Longest step between two reports of the position that is not a jump, in milliseconds. */
const STEP_MAX_MS = 2000;

/** Time after which a play counts, whatever the length of the track. */
const ENOUGH_MS = 4 * 60 * 1000;

export const UNHEARD: Heard = { ms: 0, positionMs: 0, isCounted: false };

/**
 * Returns `heard` after the playing track has reached `positionMs`. Jumps do not count as heard.
 */
export function hear(heard: Heard, positionMs: number): Heard {
  const step = positionMs - heard.positionMs;
  const ms = step > 0 && step <= STEP_MAX_MS ? heard.ms + step : heard.ms;
  return { ...heard, ms, positionMs };
}

/** Returns whether the play counts: half of the track or four minutes, whichever is less. */
export function isPlay(heard: Heard, durationMs: number): boolean {
  return durationMs > 0 && heard.ms >= Math.min(durationMs / 2, ENOUGH_MS);
}
