import { signal } from "@preact/signals";

import { url } from "./base.ts";

/** Error response of the server, or the lack of a response. */
export class ApiError extends Error {
  /** HTTP status; 0 if there was no response. */
  readonly status: number;
  /** Seconds after which the request may be repeated, if the server says so. */
  readonly retryAfter: number | undefined;
  /** Sentences of the server about the cause and about what to do; empty if there are none. */
  readonly advice: readonly string[];

  constructor(status: number, title: string, retryAfter?: number, advice: readonly string[] = []) {
    super(title);
    this.status = status;
    this.retryAfter = retryAfter;
    this.advice = advice;
  }
}

/** False while requests to the server fail without a response. */
export const reachable = signal(true);

/** True once a request was refused because it needs a login; cleared after the login. */
export const needsLogin = signal(false);

/**
 * Increases when requests that failed may succeed: after a login, and once the server responds again.
 */
export const recoveries = signal(0);

interface Options {
  method?: "GET" | "HEAD" | "POST" | "PUT" | "DELETE";
  /** Value that is sent as JSON. */
  body?: unknown;
  /** Parameters that are sent as a form, which has room for more than a URL. */
  form?: URLSearchParams;
  signal?: AbortSignal | undefined;
  /** Value of the field Accept. */
  accept?: string;
  /** True to let the request outlive the page. */
  keepalive?: boolean;
}

/**
 * Sends a request to the JSON API (docs/api.md) and returns the response.
 *
 * @param path target below `/-/api`, such as `/albums?limit=10`
 * @throws ApiError if the server refuses or cannot be reached; `AbortError` if aborted
 */
export async function api<T>(path: string, options: Options = {}): Promise<T> {
  const response = await request(`/-/api${path}`, options);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** Sends a request to a target of the server. It throws as `api` does. */
export async function request(target: string, options: Options = {}): Promise<Response> {
  const init: RequestInit = { method: options.method ?? "GET", keepalive: options.keepalive ?? false };
  if (options.signal) init.signal = options.signal;
  if (options.form) init.body = options.form;
  if (options.accept) init.headers = { accept: options.accept };
  if (options.body !== undefined) {
    init.body = JSON.stringify(options.body);
    init.headers = { "content-type": "application/json" };
  }
  let response: Response;
  try {
    response = await fetch(url(target), init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    reachable.value = false;
    throw new ApiError(0, "");
  }
  reachable.value = true;
  if (response.ok) return response;
  if (response.status === 401) needsLogin.value = true;
  const retryAfter = Number(response.headers.get("retry-after") ?? NaN);
  const [title = "", ...advice] = await sentencesOf(response);
  throw new ApiError(response.status, title, Number.isFinite(retryAfter) ? retryAfter : undefined, advice);
}

/** Returns the title of a problem document, its cause and its hint, or the status line's reason. */
async function sentencesOf(response: Response): Promise<string[]> {
  try {
    const problem = (await response.json()) as Readonly<Record<string, unknown>> | null;
    const found = [problem?.["title"], problem?.["detail"], problem?.["hint"]].filter((it) => it !== undefined);
    if (found.length) return found.map(String);
  } catch {
    // The body is not JSON.
  }
  return [response.statusText || String(response.status)];
}

/** Repeats `GET /-/live` until the server responds, with pauses that grow from 1 to 30 seconds. */
export function watchConnection(): void {
  let pause = 1000;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const attempt = async () => {
    timer = undefined;
    try {
      await fetch(url("/-/live"), { cache: "no-store" });
      reachable.value = true;
    } catch {
      pause = Math.min(pause * 2, 30_000);
      timer = setTimeout(attempt, pause);
    }
  };
  addEventListener("online", () => {
    clearTimeout(timer);
    void attempt();
  });
  reachable.subscribe((isReachable) => {
    if (isReachable) {
      pause = 1000;
      recoveries.value += 1;
    } else {
      timer ??= setTimeout(attempt, pause);
    }
  });
}
