import { ApiError, needsLogin } from "../api.ts";
import { url } from "../base.ts";
import { ACCEPTS } from "../photos/comparison.ts";
import { type Recipe, type Size, queryOf, withQuery } from "./recipe.ts";

/** Variant that the server sent, and what the response said about it. */
export interface Variant {
  readonly recipe: Recipe;
  /** Value of the field Accept of the request. */
  readonly accept: string;
  /** Address of the variant in memory, which the caller revokes. */
  readonly address: string;
  /** Media type, such as `image/avif`. */
  readonly type: string;
  readonly bytes: number;
  /** Size in pixels, or `null` if this browser cannot decode the format. */
  readonly size: Size | null;
  /** Time from the request to the last byte, in milliseconds. */
  readonly ms: number;
  /** Field Cache-Status of the response. */
  readonly cacheStatus: string;
}

/** Number of times that a variant is requested while the server is busy. */
const ATTEMPTS_MAX = 6;

/** Requests a variant, and waits while the server is busy. Throws an `ApiError` with the server's message. */
async function request(target: string, accept: string, signal: AbortSignal): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    let response: Response;
    try {
      // A response from the browser cache would carry the Cache-Status of an earlier request.
      response = await fetch(target, { headers: { accept }, signal, cache: "no-store" });
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof DOMException ? error : new ApiError(0, "");
    }
    if (response.ok) return response;
    if (response.status === 401) needsLogin.value = true;
    if (response.status !== 503 || attempt === ATTEMPTS_MAX) throw new ApiError(response.status, await sentenceOf(response));
    await new Promise((resolve) => setTimeout(resolve, 1000 * (Number(response.headers.get("retry-after")) || 1)));
    signal.throwIfAborted();
  }
}

/** Returns the detail of a problem document, or its title. */
async function sentenceOf(response: Response): Promise<string> {
  const problem = (await response.json().catch(() => ({}))) as { detail?: string; title?: string };
  return problem.detail ?? problem.title ?? (response.statusText || String(response.status));
}

/** Requests the variant that a recipe makes of a file for this browser. */
export async function loadVariant(file: string, recipe: Recipe, signal: AbortSignal): Promise<Variant> {
  const target = withQuery(url(file), queryOf(recipe));
  const accepts = recipe.format === "" ? ACCEPTS : ACCEPTS.slice(0, 1);
  for (const [index, accept] of accepts.entries()) {
    const start = performance.now();
    const response = await request(target, accept, signal);
    const blob = await response.blob();
    const ms = performance.now() - start;
    const address = URL.createObjectURL(blob);
    const size = await sizeOf(address);
    if (signal.aborted || (!size && index < accepts.length - 1)) {
      URL.revokeObjectURL(address);
      signal.throwIfAborted();
      continue;
    }
    const cacheStatus = response.headers.get("cache-status") ?? "";
    return { recipe, accept, address, type: blob.type, bytes: blob.size, size, ms, cacheStatus };
  }
  throw new ApiError(415, "");
}

async function sizeOf(address: string): Promise<Size | null> {
  const image = new Image();
  image.src = address;
  try {
    await image.decode();
    return { width: image.naturalWidth, height: image.naturalHeight };
  } catch {
    return null;
  }
}

/** Returns the number of bytes of a variant. */
export async function bytesOf(file: string, recipe: Recipe, signal: AbortSignal): Promise<number> {
  const response = await request(withQuery(url(file), queryOf(recipe)), "*/*", signal);
  return (await response.blob()).size;
}

/** Returns the format of a media type: `jpeg` for `image/jpeg; charset=binary`. */
export function formatOf(type: string): string {
  return /^image\/([\w-]+)/.exec(type)?.[1] ?? "bin";
}
