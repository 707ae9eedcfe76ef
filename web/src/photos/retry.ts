import { type ApiError, request } from "../api.ts";
import { session, sessionAfter } from "../session.ts";

/** Returns the milliseconds to wait before a load is repeated for the `attempt`-th time, from 0. */
export function backoff(attempt: number, retryAfterSeconds: number | undefined): number {
  const grown = Math.min(60_000, 1000 * 2 ** attempt);
  return Math.max(grown, Math.min(60_000, (retryAfterSeconds ?? 0) * 1000));
}

/** Number of failed attempts after which a picture is given up. */
const ATTEMPTS_MAX = 8;

/** Decision about a picture that did not load. */
export interface RetryDecision {
  /** Reason why the picture cannot be shown; absent if it may be loaded again. */
  readonly why?: string;
  /** Number of attempts that count, for the next decision. */
  readonly attempt: number;
  /** Milliseconds to wait before the next load. */
  readonly pause: number;
}

/**
 * Learns why a picture did not load, by a request for a tiny variant: the server sends some damaged
 * originals unchanged, but cannot convert them. If the server asks for a login, waits for the login.
 *
 * @param attempt number of attempts before, which counts neither those while the server was busy nor
 * those without a login
 * @param max number of attempts after which a picture that the server can convert is given up
 */
export async function decideRetry(file: string, attempt: number, max = ATTEMPTS_MAX): Promise<RetryDecision> {
  const before = session.peek();
  const refusal = await request(`${file}?h=8`, { accept: "image/*" }).then(() => null, (error: ApiError) => error);
  const { status, message: why, retryAfter } = refusal ?? { status: 200, message: "", retryAfter: 0 };
  if (status === 401) {
    await sessionAfter(before);
    return { attempt, pause: 0 };
  }
  // A busy server states in Retry-After when to retry.
  if (status === 429 || status === 503) return { attempt, pause: backoff(0, retryAfter) };
  const isFinal = status >= 400 && status < 500;
  if (isFinal || attempt > (refusal ? ATTEMPTS_MAX : max)) return { why, attempt, pause: 0 };
  // If the server can convert the picture, the first load may have been interrupted.
  return { attempt: attempt + 1, pause: refusal || attempt ? backoff(attempt, retryAfter) : 0 };
}
