import type { ReplayGain } from "./types.ts";

/** Source of a track and its ReplayGain. */
export interface Source {
  readonly src: string;
  readonly gain?: ReplayGain | undefined;
}

/** Events that the engine reports to its owner. */
export interface EngineEvents {
  /** The position of the track has changed, in seconds. */
  onTime(seconds: number): void;
  /** The prepared track has started, without a gap. */
  onAdvance(): void;
  /** The track has ended, and no other one was ready to follow. */
  onEnd(): void;
  onPlaying(isPlaying: boolean): void;
  /** The source `src` cannot be played; `code` is that of `MediaError`. */
  onError(code: number, src: string): void;
  /** The browser wants the user to press play first. */
  onRefused(): void;
}

/** Remaining time at which the start of the next track is scheduled, in seconds. */
const ARM_S = 1;

/**
 * Plays one track and starts the next one without a gap.
 *
 * Two audio elements take turns: while the first plays, the second loads the next track, and a
 * timer starts it when the first ends. The event `ended` alone would come too late.
 */
export class Engine {
  readonly #events: EngineEvents;
  #current: HTMLAudioElement;
  #standby: HTMLAudioElement;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #gains = new Map<HTMLAudioElement, ReplayGain | undefined>();
  #volumeOf: (gain: ReplayGain | undefined) => number = () => 1;

  constructor(events: EngineEvents) {
    this.#events = events;
    this.#current = this.#element();
    this.#standby = this.#element();
  }

  /** Source of the present track; empty if none is loaded. */
  get source(): string {
    return sourceOf(this.#current);
  }

  get position(): number {
    return this.#current.currentTime;
  }

  /** Length of the track in seconds; NaN while it is unknown. */
  get duration(): number {
    return this.#current.duration;
  }

  /** Loads a track. If `src` is the source of the prepared track, nothing is requested again. */
  load({ src, gain }: Source, seconds: number, isToPlay: boolean): void {
    this.#disarm();
    if (sourceOf(this.#standby) === src && this.#standby.error === null) this.#swap();
    else setSource(this.#current, src);
    this.#setGain(this.#current, gain);
    this.#current.preload = "auto";
    if (this.#current.currentTime !== seconds) this.#current.currentTime = seconds;
    if (isToPlay) this.play();
  }

  /** Loads the track that is to follow. `null` releases the track that was prepared. */
  prepare(source: Source | null): void {
    const src = source?.src ?? null;
    if (sourceOf(this.#standby) === (src ?? "")) return;
    this.#disarm();
    setSource(this.#standby, src);
    this.#setGain(this.#standby, source?.gain);
    this.#standby.preload = "auto";
  }

  play(): void {
    this.#current.play().catch((error: unknown) => {
      if (isRefusal(error)) this.#events.onRefused();
    });
  }

  pause(): void {
    this.#disarm();
    this.#current.pause();
  }

  seek(seconds: number): void {
    this.#disarm();
    this.#current.currentTime = seconds;
  }

  /** Stops playback and releases both files. */
  stop(): void {
    this.#disarm();
    for (const element of [this.#current, this.#standby]) {
      element.pause();
      setSource(element, null);
    }
  }

  /** Sets the function that returns the volume of a track from its gain. */
  setVolume(volumeOf: (gain: ReplayGain | undefined) => number): void {
    this.#volumeOf = volumeOf;
    for (const element of [this.#current, this.#standby]) element.volume = volumeOf(this.#gains.get(element));
  }

  #setGain(element: HTMLAudioElement, gain: ReplayGain | undefined): void {
    this.#gains.set(element, gain);
    element.volume = this.#volumeOf(gain);
  }

  #element(): HTMLAudioElement {
    const element = new Audio();
    element.preload = "none";
    const own = (run: () => void) => () => {
      if (element === this.#current && sourceOf(element) !== "") run();
    };
    element.addEventListener("timeupdate", own(() => this.#follow()));
    element.addEventListener("play", own(() => this.#events.onPlaying(true)));
    element.addEventListener("pause", own(() => !element.ended && this.#events.onPlaying(false)));
    element.addEventListener("ended", own(() => this.#ended()));
    element.addEventListener("error", own(() => this.#events.onError(element.error?.code ?? 0, sourceOf(element))));
    return element;
  }

  #follow(): void {
    const { currentTime, duration } = this.#current;
    this.#events.onTime(currentTime);
    if (this.#timer === undefined && duration - currentTime < ARM_S && this.#isReady()) this.#arm();
  }

  #isReady(): boolean {
    const { paused, seeking } = this.#current;
    return !paused && !seeking && sourceOf(this.#standby) !== "" && this.#standby.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA;
  }

  /**
   * Waits for the end of the track. Timers are inexact, so the remaining time is measured again.
   */
  #arm(): void {
    const restMs = (this.#current.duration - this.#current.currentTime) * 1000;
    if (restMs <= 2) {
      this.#advance();
      return;
    }
    this.#timer = setTimeout(() => this.#arm(), restMs > 40 ? restMs - 20 : restMs / 2);
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #advance(): void {
    this.#disarm();
    if (!this.#isReady()) return;
    // The ending element plays its last milliseconds while the other element starts.
    this.#swap(true);
    this.#playPrepared();
  }

  #ended(): void {
    if (this.#timer !== undefined) this.#advanceLate();
    else this.#events.onEnd();
  }

  /** Starts the next track if the event `ended` came before the timer. */
  #advanceLate(): void {
    this.#disarm();
    this.#swap();
    this.#playPrepared();
  }

  /**
   * Plays the element that was on standby. Some browsers, such as those of locked iPhones, allow
   * only elements that the user has started. There, the track is loaded into the element that
   * played before.
   */
  #playPrepared(): void {
    this.#current.play().catch((error: unknown) => {
      if (!isRefusal(error)) return;
      const [src, gain] = [sourceOf(this.#current), this.#gains.get(this.#current)];
      this.#swap();
      setSource(this.#current, src);
      this.#setGain(this.#current, gain);
      setSource(this.#standby, null);
      this.play();
    });
    this.#events.onAdvance();
  }

  #swap(isToEnd = false): void {
    const before = this.#current;
    this.#current = this.#standby;
    this.#standby = before;
    if (!isToEnd) before.pause();
  }
}

/** Returns whether the browser wants the user to press play. */
function isRefusal(error: unknown): boolean {
  return error instanceof DOMException && error.name === "NotAllowedError";
}

/** Returns the attribute `src` as it was set, or an empty text. */
function sourceOf(element: HTMLAudioElement): string {
  return element.getAttribute("src") ?? "";
}

function setSource(element: HTMLAudioElement, src: string | null): void {
  if (src === null) element.removeAttribute("src");
  else element.src = src;
  element.load();
}
