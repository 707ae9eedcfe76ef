import { type Position, SCROLL_MAX, type Spaces, follow, isStuck, spacesFor, toScroll } from "./spaces.ts";

/**
 * Times without scrolling, in milliseconds: `STILL_MS` before placeholders are drawn, and `REST_MS`
 * before pictures are loaded and the window is aligned.
 */
const STILL_MS = 100;
const REST_MS = 120;
/** Scroll steps above this number of window heights are jumps. */
const JUMP = 3;

export interface ScrollerEvents {
  /** Returns the height of the layout. */
  height(): number;
  /** The window was scrolled, at a speed in window heights per second. */
  moved(speed: number): void;
  /** Nothing has moved for 100 ms. */
  stilled(): void;
  /** Nothing has moved for 120 ms, and no finger is down. */
  rested(): void;
  /** The window or something above the root has another size. */
  measured(): void;
}

/**
 * Scroll position of the window and its place in the layout (see `spaces.ts`).
 *
 * While the page moves, a change of the layout only changes the difference between the two. The
 * window is scrolled to the position that belongs to the layout once scrolling has ended; the user
 * does not see this.
 */
export class Scroller {
  readonly root: HTMLElement;
  /** 1 if the layout was scrolled down last, else -1. */
  direction = 1;
  viewport = innerHeight;
  #position: Position;
  #rootTop = 0;
  #lastScroll = 0;
  #isScrolling = false;
  #isTouched = false;
  #restTimer: ReturnType<typeof setTimeout> | undefined;
  #stillTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #events: ScrollerEvents;
  readonly #abort = new AbortController();
  readonly #resizes: ResizeObserver;

  constructor(root: HTMLElement, events: ScrollerEvents) {
    this.root = root;
    this.#events = events;
    this.#rootTop = this.#topOfRoot();
    const scroll = scrollY - this.#rootTop;
    this.#position = { scroll, layout: scroll };
    const options = { passive: true, signal: this.#abort.signal };
    addEventListener("scroll", () => this.#scrolled(), options);
    addEventListener("resize", () => this.measure(), options);
    const touched = (event: TouchEvent) => {
      this.#isTouched = event.touches.length > 0;
      if (!this.#isTouched) this.wait();
    };
    for (const type of ["touchstart", "touchend", "touchcancel"] as const) document.addEventListener(type, touched, options);
    // Elements above the root move the root, and change the height of the page.
    this.#resizes = new ResizeObserver(() => this.measure());
    this.#resizes.observe(root.parentElement ?? root);
    this.#resizes.observe(root.closest("main") ?? root);
  }

  dispose(): void {
    this.#abort.abort();
    this.#resizes.disconnect();
    clearTimeout(this.#restTimer);
    clearTimeout(this.#stillTimer);
  }

  /** Position of the layout at the top of the window. */
  get layout(): number {
    return this.#position.layout;
  }

  /** Difference between a position in the layout and the same position in the root. */
  get base(): number {
    return this.#position.layout - this.#position.scroll;
  }

  /** Height at the top of the window that the bar covers. */
  get inset(): number {
    return Math.min(68, this.viewport / 4);
  }

  /** True if the window shows elements above the root. */
  get isAtStart(): boolean {
    return this.#position.scroll <= 0;
  }

  /** Distance of the window below the end of the layout; negative if the layout goes on. */
  get pastEnd(): number {
    return this.#position.layout - this.#spaces.layout;
  }

  /** Measures the window and the position of the root. */
  measure(): void {
    this.viewport = innerHeight;
    this.#rootTop = this.#topOfRoot();
    this.#follow();
    this.#events.measured();
  }

  /** Shows another position of the layout. */
  moveTo(layout: number): void {
    this.#position = { ...this.#position, layout: Math.max(-this.#rootTop, Math.min(this.#spaces.layout, layout)) };
    this.align();
    this.wait();
  }

  /** Follows a change of the layout that has moved the shown part by `by` pixels. */
  shift(by: number): void {
    this.#position = { ...this.#position, layout: this.#position.layout + by };
    this.root.style.height = `${Math.min(this.#events.height(), SCROLL_MAX)}px`;
    if (!this.#isScrolling && !this.#isTouched) this.align();
    this.wait();
  }

  /** Scrolls the window to the position that belongs to the shown part of the layout. */
  align(): void {
    const wanted = toScroll(this.#spaces, this.#position.layout) + this.#rootTop;
    if (Math.abs(wanted - scrollY) >= 1) scrollTo(0, wanted);
    this.#position = { ...this.#position, scroll: scrollY - this.#rootTop };
  }

  /** Starts the timers that detect the end of scrolling. */
  wait(): void {
    clearTimeout(this.#restTimer);
    clearTimeout(this.#stillTimer);
    this.#stillTimer = setTimeout(() => this.#events.stilled(), STILL_MS);
    this.#restTimer = setTimeout(() => this.#rest(), REST_MS);
  }

  get #spaces(): Spaces {
    return spacesFor(this.#events.height(), this.viewport);
  }

  #topOfRoot(): number {
    return this.root.getBoundingClientRect().top + scrollY;
  }

  #follow(): void {
    this.#position = follow(this.#spaces, this.#position, scrollY - this.#rootTop, this.viewport * JUMP);
  }

  #rest(): void {
    if (this.#isTouched) return;
    this.#isScrolling = false;
    this.align();
    this.#events.rested();
  }

  #scrolled(): void {
    const before = this.#position.layout;
    this.#follow();
    const step = this.#position.layout - before;
    if (step === 0) return;
    const now = performance.now();
    const seconds = Math.max(0.008, (now - this.#lastScroll) / 1000);
    this.#lastScroll = now;
    this.direction = Math.sign(step);
    this.#isScrolling = true;
    if (isStuck(this.#spaces, this.#position)) this.align();
    this.#events.moved(Math.abs(step) / this.viewport / seconds);
    this.wait();
  }
}
