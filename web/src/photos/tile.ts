import { url } from "../base.ts";
import { t } from "../i18n/messages.ts";
import { labelOf, nameOf, placeholder } from "./names.ts";
import { decideRetry } from "./retry.ts";
import type { Picture } from "./source.ts";

/** Heights in which the grid requests pictures. */
const LADDER = [240, 480];
/** Pictures that load faster than this appear without fading in. */
const FADE_AFTER_MS = 80;
/** Time after which a picture has faded in. */
const FADE_MS = 300;

/** Place of a tile within its section, in pixels. */
export interface Place {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Function that returns the target of the view that shows a picture over the timeline. */
export type LinkOf = (picture: Picture) => string;

/**
 * Element that shows a picture of the timeline. Tiles are reused for other pictures.
 *
 * A tile first shows the picture's colour, then its placeholder, then the picture.
 */
export class Tile {
  readonly element = document.createElement("div");
  readonly link = document.createElement("a");
  readonly #image = document.createElement("img");
  readonly #check = document.createElement("button");
  #canvas: HTMLCanvasElement | null = null;
  picture: Picture | null = null;
  /** Index of the picture in the timeline. */
  index = -1;
  /** Called when a load has ended, or must be tried again. */
  onEnd: (isDone: boolean) => void = () => undefined;
  #started = 0;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.element.className = "tile";
    this.element.setAttribute("role", "listitem");
    this.#image.alt = "";
    this.#image.decoding = "async";
    this.#image.draggable = false;
    this.#image.addEventListener("load", () => this.#loaded());
    this.#image.addEventListener("error", () => void this.#failed());
    this.link.append(this.#image);
    this.#check.type = "button";
    this.#check.className = "tile-check";
    this.#check.tabIndex = -1;
    this.#check.append("✓");
    this.element.append(this.link, this.#check);
  }

  /** Shows another picture, by its colour at first. */
  show(picture: Picture, index: number, place: Place, isSelected: boolean, link: LinkOf): void {
    this.picture = picture;
    this.index = index;
    this.#attempt = 0;
    const { element } = this;
    element.className = "tile";
    element.dataset["index"] = String(index);
    element.style.backgroundColor = picture.colour ?? "";
    this.link.href = link(picture);
    this.link.tabIndex = -1;
    this.link.title = "";
    this.link.setAttribute("aria-label", labelOf(picture));
    this.#check.setAttribute("aria-label", t("photos.select", { name: nameOf(picture) }));
    this.select(isSelected);
    this.place(place);
  }

  place({ left, top, width, height }: Place): void {
    const { style } = this.element;
    const sign = document.dir === "rtl" ? -1 : 1;
    style.transform = `translate(${left * sign}px, ${top}px)`;
    style.width = `${width}px`;
    style.height = `${height}px`;
    // A picture that is cut to its box is wider than the box.
    const ratio = (this.picture?.ratio || 1333) / 1000;
    this.#image.sizes = `${Math.ceil(Math.max(width, height * ratio))}px`;
  }

  select(isSelected: boolean): void {
    this.element.classList.toggle("selected", isSelected);
    this.#check.setAttribute("aria-pressed", String(isSelected));
  }

  mark(isFavourite: boolean): void {
    this.element.classList.toggle("favourite", isFavourite);
  }

  /** Starts to load the picture. */
  load(isUrgent: boolean): void {
    const { picture } = this;
    const image = this.#image;
    if (!picture) return;
    const target = url(picture.file);
    const ratio = (picture.ratio || 1333) / 1000;
    const saves = (navigator as { connection?: { saveData?: boolean } }).connection?.saveData;
    this.#started = performance.now();
    image.fetchPriority = isUrgent ? "high" : "auto";
    // Moving pictures would distract. The parameter does not affect still pictures.
    const first = /\.(gif|a?png|webp)$/i.test(picture.file) ? "&animation=first" : "";
    const heights = saves ? LADDER.slice(0, 1) : LADDER;
    image.srcset = heights.map((height) => `${target}?h=${height}${first} ${Math.max(1, Math.round(height * ratio))}w`).join(", ");
  }

  /** Stops loading and forgets the picture. */
  clear(): void {
    clearTimeout(this.#timer);
    this.picture = null;
    this.index = -1;
    this.#image.removeAttribute("srcset");
    this.#uncover();
  }

  get isLoaded(): boolean {
    return this.element.classList.contains("ready");
  }

  /** Address of the variant that is shown, if any. */
  get shown(): string {
    return this.isLoaded ? this.#image.currentSrc : "";
  }

  /** Draws the placeholder, unless the picture is there already. */
  drawPlaceholder(): void {
    const hash = this.picture?.placeholder;
    if (!hash || this.#canvas || this.isLoaded) return;
    const canvas = placeholder(hash);
    if (!canvas) return;
    this.#canvas = canvas;
    this.link.prepend(canvas);
  }

  #uncover(): void {
    this.#canvas?.remove();
    this.#canvas = null;
  }

  #loaded(): void {
    // Without a `srcset`, the load has not started, and the event is that of an earlier picture.
    if (!this.picture || !this.#image.srcset) return;
    const isSlow = performance.now() - this.#started > FADE_AFTER_MS;
    this.element.classList.add("ready");
    this.element.classList.toggle("fade", isSlow);
    // The canvas is removed once the picture covers it, because it is a layer for the compositor.
    if (isSlow) this.#timer = setTimeout(() => this.#uncover(), FADE_MS);
    else this.#uncover();
    this.onEnd(true);
  }

  /** Learns why the picture did not load. Retries if the reason may pass. */
  async #failed(): Promise<void> {
    const { picture } = this;
    if (!picture || !this.#image.srcset) return;
    const { why, attempt, pause } = await decideRetry(picture.file, this.#attempt);
    if (this.picture !== picture) return;
    if (why === undefined) {
      this.#attempt = attempt;
      this.#image.removeAttribute("srcset");
      this.#timer = setTimeout(() => this.onEnd(false), pause);
    } else {
      this.element.classList.add("failed");
      this.link.title = why;
    }
    this.onEnd(true);
  }
}

/** Returns the index in the timeline of the picture whose tile contains an element, or -1. */
export function indexOfTile(target: EventTarget | null): number {
  const tile = target instanceof Element ? target.closest<HTMLElement>(".tile") : null;
  return tile ? Number(tile.dataset["index"]) : -1;
}
