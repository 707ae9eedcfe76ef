/**
 * Queue of loads of which at most `limit` run at a time. The load that was added last starts first,
 * because its picture is the nearest to the visible part.
 */
export class LoadQueue<T> {
  readonly #waiting = new Set<T>();
  readonly #running = new Set<T>();
  #isPaused = false;
  readonly #limit: number;
  readonly #start: (item: T) => void;

  constructor(limit: number, start: (item: T) => void) {
    this.#limit = limit;
    this.#start = start;
  }

  /** Adds loads, the most urgent one first. */
  add(items: readonly T[]): void {
    for (const item of [...items].reverse()) {
      if (this.#running.has(item)) continue;
      this.#waiting.delete(item);
      this.#waiting.add(item);
    }
    this.#fill();
  }

  /** Removes a load that has ended or is no longer wanted. Stopping it is the caller's task. */
  remove(item: T): void {
    this.#waiting.delete(item);
    if (this.#running.delete(item)) this.#fill();
  }

  /** Starts no loads until called with `false`. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (!isPaused) this.#fill();
  }

  get runningCount(): number {
    return this.#running.size;
  }

  #fill(): void {
    while (!this.#isPaused && this.#running.size < this.#limit && this.#waiting.size > 0) {
      const next = [...this.#waiting].pop() as T;
      this.#waiting.delete(next);
      this.#running.add(next);
      this.#start(next);
    }
  }
}

/**
 * Returns the number of pictures that may load at a time. Browsers open six connections to an
 * HTTP/1.1 server.
 */
export function loadsMax(): number {
  const [entry] = performance.getEntriesByType("navigation");
  const protocol = entry instanceof PerformanceNavigationTiming ? entry.nextHopProtocol : "";
  return /^h[23]/.test(protocol) ? 24 : 6;
}
