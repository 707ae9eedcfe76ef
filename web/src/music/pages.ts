import { type Signal, signal } from "@preact/signals";

import type { Page } from "./types.ts";

/**
 * Maximum number of pages of a list that are kept. Pages far from the visible part are dropped
 * first.
 */
const KEPT_MAX = 20;

/** Function that returns the part of the list that begins at `offset`. */
type Fetch<T> = (offset: number, limit: number, abort: AbortSignal) => Promise<Page<T>>;

/**
 * List that is loaded in pages when they come into view. Requests for pages that are no longer
 * needed are aborted.
 */
export class PagedList<T> {
  /** Number of items; `null` until the first page is there. */
  readonly total: Signal<number | null> = signal(null);
  /** Error of the last request, if it failed. */
  readonly error: Signal<unknown> = signal(null);
  /** Increases with each page that arrives. */
  readonly version: Signal<number> = signal(0);
  readonly pageSize: number;
  readonly #fetch: Fetch<T>;
  readonly #pages = new Map<number, readonly T[]>();
  readonly #running = new Map<number, AbortController>();
  /** Items that were wanted last. */
  #wanted: readonly [first: number, end: number] = [0, 1];

  constructor(fetch: Fetch<T>, pageSize: number) {
    this.#fetch = fetch;
    this.pageSize = pageSize;
  }

  /** Returns the item at an index, if it is loaded. */
  at(index: number): T | undefined {
    return this.#pages.get(Math.floor(index / this.pageSize))?.[index % this.pageSize];
  }

  /** Loads the pages with the items from `first` to `end`, and aborts the loading of others. */
  want(first: number, end: number): void {
    this.#wanted = [first, end];
    const from = Math.floor(Math.max(0, first) / this.pageSize);
    const to = Math.floor(Math.max(first, end - 1) / this.pageSize);
    for (const [page, controller] of this.#running) {
      if (page < from || page > to) controller.abort();
    }
    for (let page = from; page <= to; page += 1) {
      if (!this.#pages.has(page) && !this.#running.has(page)) void this.#load(page);
    }
    this.#drop((from + to) / 2);
  }

  /** Loads those of the items that were wanted last that are not loaded yet. */
  again(): void {
    this.want(...this.#wanted);
  }

  /** Aborts all requests. */
  stop(): void {
    for (const controller of this.#running.values()) controller.abort();
  }

  async #load(page: number): Promise<void> {
    const controller = new AbortController();
    this.#running.set(page, controller);
    try {
      const { total, items } = await this.#fetch(page * this.pageSize, this.pageSize, controller.signal);
      this.#pages.set(page, items);
      this.total.value = total;
      this.error.value = null;
      this.version.value += 1;
    } catch (error) {
      if (!controller.signal.aborted) this.error.value = error;
    } finally {
      if (this.#running.get(page) === controller) this.#running.delete(page);
    }
  }

  #drop(centre: number): void {
    const far = [...this.#pages.keys()].sort((a, b) => Math.abs(b - centre) - Math.abs(a - centre));
    for (const page of far.slice(0, Math.max(0, far.length - KEPT_MAX))) this.#pages.delete(page);
  }
}
