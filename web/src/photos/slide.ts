import { ApiError } from "../api.ts";
import { url } from "../base.ts";
import { type Details, type Served, servedFrom } from "./details.ts";
import { placeholder } from "./names.ts";
import { decideRetry } from "./retry.ts";
import type { Picture } from "./source.ts";
import { FITTED, type Pose, type Size, contained, fitted, isHigher, rung, zoomMax } from "./zoom.ts";

/** Width that is assumed for a picture until its details are known; larger than all of `RUNGS`. */
const UNKNOWN_WIDTH = 6000;

/**
 * One picture of the viewer. It shows the thumbnail of the grid at once, and then the smallest
 * variant that is sharp. When the picture is zoomed, a larger variant replaces it once that is
 * decoded.
 */
export class Slide {
  readonly element = document.createElement("div");
  readonly picture: Picture;
  pose: Pose = FITTED;
  fit: Size = { width: 1, height: 1 };
  served: Served | null = null;
  error: string | null = null;
  details: Details | null = null;
  readonly #frame = document.createElement("div");
  #stage: Size = { width: 1, height: 1 };
  #present: HTMLImageElement | null = null;
  /** Width that is shown or being loaded, of those in `RUNGS`; `null` before the first load. */
  #rung: number | null = null;
  #loading: HTMLImageElement | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isGone = false;
  readonly #hasThumbnail: boolean;
  readonly #onChange: () => void;

  constructor(picture: Picture, thumbnail: string, details: Promise<Details>, onChange: () => void) {
    this.picture = picture;
    this.#onChange = onChange;
    this.#hasThumbnail = thumbnail !== "";
    this.element.className = "slide";
    this.#frame.className = "slide-frame";
    this.#frame.style.backgroundColor = picture.colour ?? "";
    const canvas = picture.placeholder && !thumbnail ? placeholder(picture.placeholder) : null;
    if (canvas) this.#frame.append(canvas);
    if (thumbnail) {
      const image = this.#image(thumbnail);
      this.#frame.append(image);
      this.#present = image;
    }
    this.element.append(this.#frame);
    details.then(
      (value) => this.#take(value),
      (error: unknown) => {
        if (error instanceof ApiError && error.status === 404) this.#fail("");
      },
    );
  }

  /** Size of the original, or an assumed size. */
  get natural(): Size {
    const { details } = this;
    if (details && details.width > 0 && details.height > 0) return details;
    return { width: UNKNOWN_WIDTH, height: UNKNOWN_WIDTH / ((this.picture.ratio || 1333) / 1000) };
  }

  get max(): number {
    return zoomMax(this.natural, this.fit);
  }

  /** True while a sharper variant is loading. */
  get isLoading(): boolean {
    return this.#loading !== null;
  }

  /** Fits the picture into a stage of this size. */
  resize(stage: Size): void {
    this.#stage = stage;
    this.fit = fitted(this.natural, stage);
    this.#frame.style.width = `${this.fit.width}px`;
    this.#frame.style.height = `${this.fit.height}px`;
    this.place(this.pose, true);
  }

  /** Shows the picture at the position and zoom of `pose`. */
  place(pose: Pose, isBounded: boolean): void {
    this.pose = isBounded ? contained(pose, this.fit, this.#stage, this.max) : pose;
    const { x, y, zoom } = this.pose;
    this.#frame.style.transform = `translate(${x}px, ${y}px) scale(${zoom})`;
  }

  /** Turns the transition of movements on or off. */
  glide(isOn: boolean): void {
    this.#frame.classList.toggle("glide", isOn);
  }

  /** Lets the picture grow from a rectangle of the window. */
  growFrom(from: DOMRect): void {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const to = this.#frame.getBoundingClientRect();
    if (!to.width || !from.width) return;
    const x = from.x + from.width / 2 - (to.x + to.width / 2);
    const y = from.y + from.height / 2 - (to.y + to.height / 2);
    const scale = Math.max(from.width / to.width, from.height / to.height);
    this.#frame.animate([{ transform: `translate(${x}px, ${y}px) scale(${scale})` }, { transform: "none" }], {
      duration: 220,
      easing: "cubic-bezier(0.2, 0, 0, 1)",
    });
  }

  /**
   * Loads the variant that is sharp at the present size, unless such a variant is shown already.
   */
  sharpen(): void {
    if (this.#isGone || this.error !== null) return;
    const wanted = rung(this.fit.width * this.pose.zoom * devicePixelRatio, this.natural.width);
    if (this.#rung !== null && !isHigher(wanted, this.#rung)) return;
    this.#rung = wanted;
    this.#load(wanted, 0);
  }

  dispose(): void {
    this.#isGone = true;
    clearTimeout(this.#timer);
    this.#loading?.removeAttribute("src");
    this.element.remove();
  }

  #image(source: string): HTMLImageElement {
    const image = new Image();
    image.alt = "";
    image.draggable = false;
    image.src = source;
    return image;
  }

  #load(width: number, attempt: number): void {
    this.#loading?.removeAttribute("src");
    const target = url(this.picture.file) + (width ? `?w=${width}` : "");
    const image = this.#image(target);
    this.#loading = image;
    image.decode().then(
      () => {
        if (this.#isGone || this.#loading !== image) return;
        this.#loading = null;
        this.#swap(image);
      },
      () => {
        if (!this.#isGone && this.#loading === image) void this.#failed(width, attempt);
      },
    );
  }

  /**
   * Puts a decoded image over the present one, which is removed a frame later, so that nothing
   * flickers.
   */
  #swap(image: HTMLImageElement): void {
    const before = [...this.#frame.children];
    this.#frame.append(image);
    this.#present = image;
    requestAnimationFrame(() => requestAnimationFrame(() => before.forEach((it) => it.remove())));
    // A thumbnail, or a variant of another size, was made of the decoded picture.
    if (!this.#hasThumbnail && image.naturalWidth >= (this.details?.width ?? 0)) void this.#check();
    const extension = this.picture.file.split(".").pop()?.toUpperCase() ?? "";
    this.served = servedFrom(image.currentSrc, extension);
    this.#onChange();
  }

  /** Learns why the image did not load. Retries if the reason may pass. */
  async #failed(width: number, attempt: number): Promise<void> {
    const { why, attempt: next, pause } = await decideRetry(this.picture.file, attempt, 0);
    if (this.#isGone) return;
    if (why === undefined) this.#timer = setTimeout(() => this.#load(width, next), pause);
    else this.#fail(why);
  }

  /**
   * Finds out whether the server can decode the picture. Browsers report no error for some damaged
   * files, which the server sends unchanged, and show an empty frame.
   */
  async #check(): Promise<void> {
    const { why } = await decideRetry(this.picture.file, 0, 0);
    if (why !== undefined) this.#fail(why);
  }

  #fail(why: string): void {
    if (this.#isGone) return;
    this.error = this.details?.error ?? why;
    if (!this.#present) this.#frame.replaceChildren();
    this.#onChange();
  }

  #take(details: Details): void {
    if (this.#isGone) return;
    this.details = details;
    this.resize(this.#stage);
    if (details.error) this.#fail(details.error);
    this.#onChange();
  }
}
