import { type Position, SCROLL_MAX, type Spaces, follow, isStuck, spacesFor, toScroll } from "./spaces.ts";

/** Rest after scrolling before placeholders are drawn, and before more is loaded or aligned. */
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
 * While something moves, a change of the layout only changes the distance between both. The window
 * is scrolled to where the layout belongs when it rests, which no one sees.
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
    // What stands above the root moves it, and changes the height of the whole.
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

  /** Distance of a position of the layout from the same in the root. */
  get base(): number {
    return this.#position.layout - this.#position.scroll;
  }

  /** Height at the top of the window that the bar covers. */
  get inset(): number {
    return Math.min(68, this.viewport / 4);
  }

  /** True if the window shows what stands above the root. */
  get isAtStart(): boolean {
    return this.#position.scroll <= 0;
  }

  /** Takes sizes from the document. */
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

  /** Follows a change of the layout, by which what is shown has moved. */
  shift(by: number): void {
    this.#position = { ...this.#position, layout: this.#position.layout + by };
    this.root.style.height = `${Math.min(this.#events.height(), SCROLL_MAX)}px`;
    if (!this.#isScrolling && !this.#isTouched) this.align();
    this.wait();
  }

  /** Scrolls the window to where the shown part of the layout belongs. */
  align(): void {
    const wanted = toScroll(this.#spaces, this.#position.layout) + this.#rootTop;
    if (Math.abs(wanted - scrollY) >= 1) scrollTo(0, wanted);
    this.#position = { ...this.#position, scroll: scrollY - this.#rootTop };
  }

  /** Starts to wait for the next rest. */
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
