import { ApiError, api } from "../api.ts";
import { url } from "../base.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { number, t } from "../i18n/messages.ts";

/** Original or variant, as `GET /-/api/pictures/ID/compare` describes it. */
export interface ComparedPicture {
  readonly format: string;
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
  readonly encoder?: string;
  readonly quality?: number;
  readonly speed?: number;
  readonly method?: number;
  readonly isQuick?: boolean;
  readonly isProvisional?: boolean;
}

/** Variant that the server sends to this browser, compared with the original. */
export interface Comparison {
  readonly original: ComparedPicture;
  readonly sent: ComparedPicture;
  readonly isOriginal: boolean;
  /** Missing if the original is sent or the variant is too large to be scored. */
  readonly ssimulacra2?: number;
}

/**
 * Values of the field Accept, the best first. Scripts cannot read the Accept field that the browser
 * sends for images. The first value whose response decodes is taken instead.
 */
export const ACCEPTS = ["image/avif,image/webp,*/*;q=0.8", "image/webp,*/*;q=0.8", "*/*"] as const;

/** Number of times that a comparison is requested while the server is busy. */
const ATTEMPTS_MAX = 8;

/** Picture that the server sends, and the field Accept that it was requested with. */
export interface SentPicture {
  /** Address of the picture in memory, which the caller revokes. */
  readonly address: string;
  readonly accept: string;
}

/** Requests the variant of a picture that this browser gets in a width; 0 is the full size. */
export async function loadSent(file: string, width: number, signal: AbortSignal): Promise<SentPicture> {
  const target = url(file) + (width ? `?w=${width}` : "");
  for (const accept of ACCEPTS) {
    const response = await fetch(target, { headers: { accept }, signal });
    if (!response.ok) throw new ApiError(response.status, response.statusText);
    const address = URL.createObjectURL(await response.blob());
    const image = new Image();
    image.src = address;
    try {
      await image.decode();
      return { address, accept };
    } catch {
      URL.revokeObjectURL(address);
    }
  }
  throw new ApiError(415, t("viewer.failed"));
}

/**
 * Requests the comparison of a picture. Waits while the server computes others.
 *
 * @param query parameters of the variant, such as `w=960`; may be empty
 */
export async function compare(id: string, query: string, accept: string, signal: AbortSignal): Promise<Comparison> {
  const target = `/pictures/${encodeURIComponent(id)}/compare${query ? `?${query}` : ""}`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await api<Comparison>(target, { accept, signal });
    } catch (error) {
      const isBusy = error instanceof ApiError && error.status === 503 && attempt < ATTEMPTS_MAX;
      if (!isBusy) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * (error.retryAfter ?? 1)));
      signal.throwIfAborted();
    }
  }
}

/** Returns the key of the sentence that says what a score means. */
export function meaningOf(score: number): MessageKey {
  const least = [90, 70, 50].find((it) => it <= score) ?? 0;
  return `compare.score.${least}` as MessageKey;
}

/** Returns the encoder and its settings in one line: `libaom · quality 62 · speed 6`. */
export function encoderOf({ encoder, quality, speed, method }: ComparedPicture): string {
  const parts: string[] = [];
  if (encoder) parts.push(encoder, quality === undefined ? t("compare.lossless") : t("compare.quality", { quality }));
  if (speed !== undefined) parts.push(t("compare.speed", { speed }));
  if (method !== undefined) parts.push(t("compare.method", { method }));
  return parts.join(" · ");
}

/** Returns by how much the variant is smaller than the original: `97 % smaller`. */
export function savingOf({ original, sent }: Comparison): string {
  const percent = number(1 - sent.bytes / original.bytes, { style: "percent", maximumFractionDigits: 0 });
  return t("compare.smaller", { percent });
}
