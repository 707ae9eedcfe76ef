import type { Slide } from "./slide.ts";
import { type Axis, FITTED, type Point, type Pose, SpeedMeter, axisOf, turnOf, wheelFactor, zoomClose, zoomTo } from "./zoom.ts";

/** Distance between neighbouring pictures, in pixels. */
const SPACE = 24;
/** Time within which two taps are one double tap. */
const DOUBLE_MS = 280;
/** Time after which pressing the picture without movement counts as holding it. */
const HOLD_MS = 350;
/** Movement up to this distance, in pixels, does not end the wait for a hold. */
const HOLD_DISTANCE = 8;
/** Length of a downward drag after which the viewer closes. */
const CLOSE_DISTANCE = 110;

/**
 * Number of waits of `WAIT_MS` after which neighbours are loaded even before the present picture.
 */
const NEIGHBOURS_AFTER = 12;
const WAIT_MS = 200;

export interface StageEvents {
  /** Turns to the next (1) or previous (-1) picture. */
  turn(by: -1 | 1): void;
  close(): void;
  /** A tap that is not part of a double tap. */
  tap(): void;
  /** The size of the picture has changed. */
  zoomed(): void;
  /** Called when the picture is held. Returns false if the gesture shall continue. */
  hold(): boolean;
  /** Called when the picture is no longer held. */
  release(): void;
}

/**
 * Surface of the viewer: it shows a picture between its neighbours, and turns gestures into poses.
 */
export class Stage {
  readonly #root: HTMLElement;
  readonly #events: StageEvents;
  /** The previous, the present and the next slide. */
  #slides: readonly [Slide | null, Slide | null, Slide | null] = [null, null, null];
  readonly #pointers = new Map<number, Point>();
  #start: Point = { x: 0, y: 0 };
  #startPose: Pose = FITTED;
  #startDistance = 0;
  #axis: Axis = "none";
  #hasPinched = false;
  readonly #meter = new SpeedMeter();
  #lastTap = 0;
  #tapTimer: ReturnType<typeof setTimeout> | undefined;
  #holdTimer: ReturnType<typeof setTimeout> | undefined;
  #isHeld = false;
  #sharpenTimer: ReturnType<typeof setTimeout> | undefined;
  #inertia = 0;
  readonly #abort = new AbortController();
  readonly #resizes: ResizeObserver;

  constructor(root: HTMLElement, events: StageEvents) {
    this.#root = root;
    this.#events = events;
    const options = { signal: this.#abort.signal };
    root.addEventListener("pointerdown", (event) => this.#down(event), options);
    root.addEventListener("pointermove", (event) => this.#move(event), options);
    root.addEventListener("pointerup", (event) => this.#up(event), options);
    root.addEventListener("pointercancel", (event) => this.#cancel(event), options);
    root.addEventListener("contextmenu", (event) => this.#isHeld && event.preventDefault(), options);
    root.addEventListener("wheel", (event) => this.#wheel(event), { ...options, passive: false });
    this.#resizes = new ResizeObserver(() => this.#resize());
    this.#resizes.observe(root);
  }

  dispose(): void {
    this.#abort.abort();
    this.#resizes.disconnect();
    clearTimeout(this.#tapTimer);
    clearTimeout(this.#holdTimer);
    clearTimeout(this.#sharpenTimer);
    cancelAnimationFrame(this.#inertia);
  }

  /** Shows a slide and its neighbours. */
  show(slides: readonly [Slide | null, Slide | null, Slide | null]): void {
    cancelAnimationFrame(this.#inertia);
    this.#slides = slides;
    for (const slide of slides) {
      if (slide && slide.element.parentElement !== this.#root) this.#root.append(slide.element);
    }
    this.#resize();
    this.#slide(0, false);
    for (const slide of [slides[0], slides[2]]) slide?.place(FITTED, true);
    this.#sharpen();
  }

  get present(): Slide | null {
    return this.#slides[1];
  }

  /** Zooms by a factor around the middle, or back to the fitted size with 0. */
  zoomBy(factor: number): void {
    const slide = this.present;
    if (!slide) return;
    slide.glide(true);
    slide.place(factor === 0 ? FITTED : zoomTo(slide.pose, Math.min(slide.max, slide.pose.zoom * factor), { x: 0, y: 0 }), true);
    this.#zoomed();
  }

  /** Zooms in around a point, or back to the fitted size. */
  toggle(point: Point): void {
    const slide = this.present;
    if (!slide) return;
    slide.glide(true);
    const isZoomed = slide.pose.zoom > 1.01;
    slide.place(isZoomed ? FITTED : zoomTo(slide.pose, zoomClose(slide.natural, slide.fit), point), true);
    this.#zoomed();
  }

  get #size() {
    return { width: this.#root.clientWidth, height: this.#root.clientHeight };
  }

  #resize(): void {
    const size = this.#size;
    for (const slide of this.#slides) slide?.resize(size);
    this.#sharpen();
  }

  /** Moves all slides sideways. */
  #slide(x: number, isGliding: boolean): void {
    const sign = document.dir === "rtl" ? -1 : 1;
    this.#slides.forEach((slide, index) => {
      if (!slide) return;
      slide.element.classList.toggle("glide", isGliding);
      slide.element.style.transform = `translateX(${(index - 1) * sign * (this.#root.clientWidth + SPACE) + x}px)`;
    });
  }

  #zoomed(): void {
    this.#sharpen();
    this.#events.zoomed();
  }

  /** Loads sharper variants: of the present picture at once, of its neighbours after that. */
  #sharpen(): void {
    clearTimeout(this.#sharpenTimer);
    this.present?.sharpen();
    let waits = 0;
    const others = () => {
      waits += 1;
      if (this.present?.isLoading && waits < NEIGHBOURS_AFTER) {
        this.#sharpenTimer = setTimeout(others, WAIT_MS);
        return;
      }
      this.#slides[2]?.sharpen();
      this.#slides[0]?.sharpen();
    };
    this.#sharpenTimer = setTimeout(others, WAIT_MS);
  }

  /** Returns the distance of a pointer from the middle of the stage. */
  #pointOf(event: MouseEvent): Point {
    const { left, top, width, height } = this.#root.getBoundingClientRect();
    return { x: event.clientX - left - width / 2, y: event.clientY - top - height / 2 };
  }

  #down(event: PointerEvent): void {
    if (event.button !== 0 || (event.target instanceof Element && event.target.closest("button, a, video"))) return;
    this.#root.setPointerCapture(event.pointerId);
    cancelAnimationFrame(this.#inertia);
    this.#pointers.set(event.pointerId, this.#pointOf(event));
    this.present?.glide(false);
    this.#begin();
    clearTimeout(this.#holdTimer);
    if (this.#pointers.size === 1) {
      this.#axis = "none";
      this.#hasPinched = false;
      this.#holdTimer = setTimeout(() => (this.#isHeld = this.#events.hold()), HOLD_MS);
    } else {
      this.#hasPinched = true;
    }
  }

  /** Starts to measure a gesture from the pointers that are down. */
  #begin(): void {
    this.#start = this.#middle();
    this.#startDistance = this.#distance();
    this.#startPose = this.present?.pose ?? FITTED;
  }

  #middle(): Point {
    const all = [...this.#pointers.values()];
    const sum = all.reduce((a, b) => ({ x: a.x + b.x, y: a.y + b.y }), { x: 0, y: 0 });
    return { x: sum.x / Math.max(1, all.length), y: sum.y / Math.max(1, all.length) };
  }

  #distance(): number {
    const [a, b] = [...this.#pointers.values()];
    return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
  }

  #move(event: PointerEvent): void {
    const slide = this.present;
    if (!this.#pointers.has(event.pointerId) || !slide || this.#isHeld) return;
    this.#pointers.set(event.pointerId, this.#pointOf(event));
    const middle = this.#middle();
    this.#meter.add(middle, event.timeStamp);
    const moved = { x: middle.x - this.#start.x, y: middle.y - this.#start.y };
    if (Math.hypot(moved.x, moved.y) > HOLD_DISTANCE) clearTimeout(this.#holdTimer);
    if (this.#pointers.size > 1) {
      const zoom = this.#startPose.zoom * (this.#distance() / Math.max(1, this.#startDistance));
      const pinched = zoomTo(this.#startPose, Math.min(slide.max * 1.2, Math.max(0.6, zoom)), this.#start);
      slide.place({ ...pinched, x: pinched.x + moved.x, y: pinched.y + moved.y }, false);
    } else if (this.#startPose.zoom > 1.01 || this.#hasPinched) {
      slide.place({ zoom: slide.pose.zoom, x: this.#startPose.x + moved.x, y: this.#startPose.y + moved.y }, true);
    } else {
      this.#drag(slide, moved);
    }
  }

  /** Follows a finger that turns the page or pulls the picture down. */
  #drag(slide: Slide, moved: Point): void {
    if (this.#axis === "none") this.#axis = axisOf(moved);
    if (this.#axis === "across") this.#slide(moved.x, false);
    if (this.#axis === "down" && moved.y > 0) {
      slide.place({ zoom: 1 - Math.min(0.3, moved.y / 1500), x: moved.x, y: moved.y }, false);
      this.#root.style.opacity = String(1 - Math.min(0.6, moved.y / 600));
    }
  }

  #up(event: PointerEvent): void {
    if (!this.#pointers.delete(event.pointerId) || this.#released()) return;
    if (this.#pointers.size > 0) {
      this.#begin();
      return;
    }
    const point = this.#pointOf(event);
    const moved = { x: point.x - this.#start.x, y: point.y - this.#start.y };
    const speed = this.#meter.speed(event.timeStamp);
    this.#root.style.opacity = "";
    const slide = this.present;
    if (!slide) return;
    if (this.#hasPinched) {
      slide.glide(true);
      slide.place(slide.pose, true);
      this.#zoomed();
    } else if (slide.pose.zoom > 1.01 && this.#axis === "none") {
      if (Math.hypot(moved.x, moved.y) < 6) this.#tapped(event, point);
      else this.#coast(slide, speed);
    } else if (this.#axis === "across") {
      this.#turn(moved.x, speed.x);
    } else if (this.#axis === "down") {
      if (moved.y > CLOSE_DISTANCE || (speed.y > 0.6 && moved.y > 20)) this.#events.close();
      else this.#settle(slide);
    } else {
      this.#tapped(event, point);
    }
  }

  /** Ends the hold. Returns whether the picture was held. */
  #released(): boolean {
    clearTimeout(this.#holdTimer);
    if (!this.#isHeld) return false;
    this.#isHeld = false;
    this.#events.release();
    return true;
  }

  #cancel(event: PointerEvent): void {
    this.#pointers.delete(event.pointerId);
    this.#released();
    this.#root.style.opacity = "";
    this.#slide(0, true);
    if (this.present) this.#settle(this.present);
  }

  #settle(slide: Slide): void {
    slide.glide(true);
    slide.place(slide.pose.zoom < 1 ? FITTED : slide.pose, true);
  }

  #turn(moved: number, speed: number): void {
    const sign = document.dir === "rtl" ? -1 : 1;
    const by = (turnOf(moved, speed, this.#root.clientWidth) * sign) as -1 | 0 | 1;
    const target = by === 0 ? null : this.#slides[by + 1];
    this.#slide(target ? -by * sign * (this.#root.clientWidth + SPACE) : 0, true);
    if (by !== 0 && target) setTimeout(() => this.#events.turn(by), matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 200);
  }

  #tapped(event: PointerEvent, point: Point): void {
    clearTimeout(this.#tapTimer);
    if (event.timeStamp - this.#lastTap < DOUBLE_MS) {
      this.#lastTap = 0;
      this.toggle(point);
      return;
    }
    this.#lastTap = event.timeStamp;
    if (event.pointerType !== "mouse") this.#tapTimer = setTimeout(() => this.#events.tap(), DOUBLE_MS);
  }

  /** Continues the motion of a released picture, which slows down until it stops. */
  #coast(slide: Slide, speed: Point): void {
    let { x, y } = speed;
    let before = performance.now();
    const step = (now: number) => {
      const time = Math.min(50, now - before);
      before = now;
      const { pose } = slide;
      slide.place({ zoom: pose.zoom, x: pose.x + x * time, y: pose.y + y * time }, true);
      const slower = Math.exp(-time / 180);
      x *= slower;
      y *= slower;
      if (Math.hypot(x, y) > 0.02) this.#inertia = requestAnimationFrame(step);
    };
    if (Math.hypot(x, y) > 0.05) this.#inertia = requestAnimationFrame(step);
  }

  /** Zooms at the pointer, and pans a zoomed picture sideways with a wheel that turns sideways. */
  #wheel(event: WheelEvent): void {
    const slide = this.present;
    if (!slide) return;
    event.preventDefault();
    slide.glide(false);
    const { pose, max } = slide;
    const zoom = Math.min(max, Math.max(1, pose.zoom * wheelFactor(event)));
    slide.place(zoom === pose.zoom ? { ...pose, x: pose.x - event.deltaX } : zoomTo(pose, zoom, this.#pointOf(event)), true);
    this.#zoomed();
  }
}
