import { signal } from "@preact/signals";

import { ApiError, api, reachable } from "../api.ts";
import { withLogin } from "../session.ts";
import { backoff } from "./retry.ts";
import { type Anchor, type Month, type Rows, Sections } from "./sections.ts";

/** Choice of the pictures of a timeline. */
export interface Query {
  readonly q?: string;
  /** Folder whose own pictures are chosen, without those of folders below it. */
  readonly folder?: string;
  readonly favourites?: boolean;
}

/** Picture of a timeline. */
export interface Picture {
  readonly id: string;
  readonly file: string;
  /** Width by height in thousandths; 0 if unknown. */
  readonly ratio: number;
  readonly placeholder: string | null;
  readonly colour: string | null;
  /** Day on which it was taken, such as `2024-07-31`. */
  readonly date: string;
}

interface Months {
  readonly generation: string;
  readonly total: number;
  readonly months: readonly Month[];
}

/** Maximum number of sections whose pictures are kept in memory. */
const LOADED_MAX = 60;
/** Metrics until the window has been measured. */
const UNMEASURED = { width: 1000, target: 220, gap: 4, heading: 52 };

/** Pictures of a timeline, which are loaded in sections when they come near. */
export class Source {
  readonly query: Query;
  /** Months, once they are known. */
  readonly months = signal<readonly Month[] | null>(null);
  readonly error = signal<unknown>(null);
  sections = new Sections([], UNMEASURED);
  /** Anchor of the place that was shown when the view was left. */
  place: Anchor | null = null;
  /** Called before and after sections change, with the index of the section or -1 for all. */
  onChange: ((index: number, change: () => void) => void) | null = null;
  #generation = "";
  readonly #loads = new Map<number, AbortController>();
  /** Indices of the sections that are loaded, the least recently used first. */
  readonly #used = new Set<number>();
  readonly #attempts = new Map<number, number>();
  readonly #timers = new Map<number, ReturnType<typeof setTimeout>>();

  constructor(query: Query) {
    this.query = query;
  }

  /** Loads the months from the server. */
  async loadMonths(abort?: AbortSignal): Promise<void> {
    try {
      const { generation, months } = await api<Months>(`/timeline${this.search()}`, { signal: abort });
      this.error.value = null;
      if (generation === this.#generation && this.months.value) return;
      this.#generation = generation;
      this.stop();
      const filled = months.filter(([, count]) => count > 0);
      this.#change(-1, () => {
        this.#used.clear();
        this.sections = new Sections(filled, this.sections.metrics);
      });
      this.months.value = filled;
    } catch (error) {
      if (isAbort(error)) return;
      // The months that are shown stay if the server cannot be reached.
      if (!this.months.value) this.error.value = error;
    }
  }

  /** Loads the sections from `first` to `last`, and stops the loads of others. */
  want(first: number, last: number): void {
    for (const [index, load] of this.#loads) {
      if (index >= first - 1 && index <= last + 1) continue;
      load.abort();
      // The aborted load ends later. Until then, its entry would prevent another load.
      this.#loads.delete(index);
    }
    for (let index = first; index <= last; index += 1) {
      if (this.#used.delete(index)) this.#used.add(index);
      else if (!this.#timers.has(index)) void this.loadSection(index);
    }
    this.#forget(first, last);
  }

  /** Loads a section. Returns its rows, or `null` if that failed. */
  async loadSection(index: number): Promise<Rows | null> {
    const section = this.sections.list[index];
    if (!section || section.rows || this.#loads.has(index)) return section?.rows ?? null;
    const load = new AbortController();
    this.#loads.set(index, load);
    try {
      const search = this.search({ from: String(section.from), generation: this.#generation });
      const rows = await withLogin(() => api<Rows>(`/timeline/${section.month}${search}`, { signal: load.signal }));
      if (load.signal.aborted || this.sections.list[index] !== section) return null;
      this.#attempts.delete(index);
      this.#used.add(index);
      this.#change(index, () => this.sections.load(index, rows));
      return rows;
    } catch (error) {
      if (!isAbort(error)) this.#retry(index, error);
      return null;
    } finally {
      if (this.#loads.get(index) === load) this.#loads.delete(index);
    }
  }

  /** Returns the index in the timeline of a loaded picture, or -1. */
  indexOf(id: string): number {
    for (const index of this.#used) {
      const item = this.sections.list[index]?.rows?.id.indexOf(id) ?? -1;
      if (item >= 0) return this.sections.first(index) + item;
    }
    return -1;
  }

  /** Returns the picture with this index in the timeline, if it is loaded. */
  picture(index: number): Picture | null {
    if (index < 0 || index >= this.sections.total) return null;
    const { section, item } = this.sections.pictureAt(index);
    const rows = this.sections.list[section]?.rows;
    const id = rows?.id[item];
    const file = rows?.file[item];
    if (!rows || id === undefined || file === undefined) return null;
    const day = String(rows.day[item] ?? 1).padStart(2, "0");
    const date = `${this.sections.list[section]?.month}-${day}`;
    return { id, file, ratio: rows.ratio[item] ?? 0, placeholder: rows.placeholder[item] ?? null, colour: rows.colour[item] ?? null, date };
  }

  /** Returns the picture with this index in the timeline, and loads its section if needed. */
  async fetchPicture(index: number): Promise<Picture | null> {
    if (!this.picture(index)) await this.loadSection(this.sections.pictureAt(index).section);
    return this.picture(index);
  }

  /** Stops all loads. */
  stop(): void {
    for (const load of this.#loads.values()) load.abort();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#loads.clear();
    this.#timers.clear();
    this.#attempts.clear();
  }

  #change(index: number, change: () => void): void {
    if (this.onChange) this.onChange(index, change);
    else change();
  }

  /** Retries later. If the timeline has changed, loads the months first. */
  #retry(index: number, error: unknown): void {
    const status = error instanceof ApiError ? error.status : 0;
    const attempt = this.#attempts.get(index) ?? 0;
    if (attempt > 8) return;
    this.#attempts.set(index, attempt + 1);
    const pause = backoff(attempt, error instanceof ApiError ? error.retryAfter : undefined);
    const again = () => {
      this.#timers.delete(index);
      // If the timeline has changed, its sections are different ones.
      void (status === 409 ? this.loadMonths() : this.loadSection(index));
    };
    if (status === 409 && attempt === 0) {
      again();
      return;
    }
    this.#timers.set(index, setTimeout(again, reachable.value ? pause : Math.max(pause, 3000)));
  }

  /** Drops the pictures of the least recently used sections. */
  #forget(first: number, last: number): void {
    for (const index of this.#used) {
      if (this.#used.size <= LOADED_MAX) return;
      if (index >= first && index <= last) continue;
      this.#used.delete(index);
      this.sections.unload(index);
    }
  }

  /** Returns the query part of a target that takes the parameters of this query. */
  search(more: Record<string, string> = {}): string {
    const { q, folder, favourites } = this.query;
    const search = new URLSearchParams(more);
    if (q) search.set("q", q);
    if (folder !== undefined) {
      search.set("folder", folder);
      search.set("recursive", "0");
    }
    if (favourites) search.set("favourites", "1");
    const text = search.toString();
    return text && `?${text}`;
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Sources of the views that were shown last, so that Back shows them at once. */
const recent = new Map<string, Source>();
const RECENT_MAX = 4;

/** Returns the source of a query: the one that was used before, if it is still kept. */
export function sourceOf(query: Query): Source {
  const key = JSON.stringify([query.q ?? "", query.folder ?? null, query.favourites ?? false]);
  const source = recent.get(key) ?? new Source(query);
  recent.delete(key);
  recent.set(key, source);
  for (const oldest of recent.keys()) {
    if (recent.size <= RECENT_MAX) break;
    recent.delete(oldest);
  }
  return source;
}
