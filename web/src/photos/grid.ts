import { effect, signal } from "@preact/signals";

import { rowAt, rowOf } from "./layout.ts";
import { sectionElements } from "./month.ts";
import { LoadQueue, loadsMax } from "./queue.ts";
import { Scroller } from "./scroller.ts";
import type { Section } from "./sections.ts";
import { favourites, selection } from "./selection.ts";
import type { Source } from "./source.ts";
import { type LinkOf, type Place, Tile, indexOfTile } from "./tile.ts";

/**
 * Height that is rendered beyond the window, in window heights: ahead in the direction of scrolling,
 * and behind.
 */
const AHEAD = 1.1;
const BEHIND = 0.6;
/** Maximum number of tiles outside the window that are added in one frame. */
const EXTRA_PER_FRAME = 16;
/** Maximum number of tiles at a time. */
const TILES_MAX = 400;
/** Speed in window heights per second above which nothing is loaded. */
const FAST = 8;

/** Section that is in the document. */
interface Mounted {
  readonly element: HTMLElement;
  readonly list: HTMLElement;
  readonly tiles: Map<number, Tile>;
  readonly section: Section;
  y: number;
}

/**
 * Virtual grid of a source's pictures: only the tiles near the window are in the document.
 *
 * Positions are computed, never read from the document: each section is placed at its top in the
 * layout, minus the difference between the layout and the scroll position.
 */
export class Grid {
  /** Picture and month at the top of the window. */
  readonly view = signal({ index: 0, month: "" });
  /** Index in the timeline of the picture that receives the focus. */
  focused = 0;
  readonly #root: HTMLElement;
  readonly #source: Source;
  readonly #linkOf: LinkOf;
  readonly #scroller: Scroller;
  readonly #mounted = new Map<number, Mounted>();
  readonly #pool: Tile[] = [];
  readonly #queue: LoadQueue<Tile>;
  #tileCount = 0;
  #frame = 0;
  /** True while the scrubber is dragged: nothing is loaded until it rests. */
  #isDragged = false;
  /** Picture that is brought into view when its section is loaded. */
  #wanted: { id: string; isFocused: boolean } | null = null;
  /** Number of loads that still count as urgent: those of the first row. */
  #urgent = 6;
  readonly #stopMarks: () => void;

  constructor(root: HTMLElement, source: Source, linkOf: LinkOf) {
    this.#root = root;
    this.#source = source;
    this.#linkOf = linkOf;
    this.#queue = new LoadQueue<Tile>(loadsMax(), (tile) => tile.load(this.#urgent-- > 0));
    this.#scroller = new Scroller(root, {
      height: () => source.sections.height,
      moved: (speed) => this.#moved(speed),
      stilled: () => this.#drawPlaceholders(),
      rested: () => this.#rested(),
      measured: () => this.#measured(),
    });
    source.onChange = (index, change) => this.#changeSections(index, change);
    root.addEventListener("focusin", this.#focusedIn);
    this.#stopMarks = effect(() => this.#markTiles(selection.value, favourites.value));
    this.#measured();
    const place = source.place && source.sections.position(source.place);
    if (place !== null) this.#scroller.moveTo(place - this.#scroller.inset);
  }

  /** Removes the grid, and remembers the place in its source. */
  dispose(): void {
    this.#source.place = this.#source.sections.anchor(this.#top);
    this.#source.onChange = null;
    this.#source.stop();
    this.#scroller.dispose();
    this.#root.removeEventListener("focusin", this.#focusedIn);
    this.#stopMarks();
    cancelAnimationFrame(this.#frame);
    for (const index of this.#mounted.keys()) this.#unmount(index);
  }

  /** Scrolls so that the picture with this index in the timeline is at the top. */
  jumpTo(index: number): void {
    const { sections } = this.#source;
    const { section, item } = sections.pictureAt(index);
    this.#moveTo((item === 0 ? sections.top(section) : sections.topOf(section, item)) - this.#scroller.inset);
  }

  /** Starts or ends a drag of the scrubber. */
  drag(isDragged: boolean): void {
    this.#isDragged = isDragged;
    this.#queue.pause(isDragged);
    if (!isDragged) this.#rested();
  }

  /** Moves a picture into the window if it is outside, and gives it the focus if wanted. */
  reveal(index: number, isFocused: boolean): void {
    const { sections } = this.#source;
    const { layout, viewport, inset } = this.#scroller;
    const { section, item } = sections.pictureAt(index);
    const top = sections.topOf(section, item);
    const boxes = sections.list[section]?.boxes;
    const row = boxes ? rowOf(boxes, item) : 0;
    const height = boxes ? (boxes.tops[row + 1] ?? 0) - (boxes.tops[row] ?? 0) : 0;
    if (top < layout + inset) this.#moveTo(top - inset - 60);
    else if (top + height > layout + viewport - inset) this.#moveTo(top + height + 60 + inset - viewport);
    if (!isFocused) return;
    this.focused = index;
    this.#render();
    this.tileAt(index)?.link.focus({ preventScroll: true });
  }

  /** Shows a month, and scrolls to one of its pictures once that picture is loaded. */
  revealId(id: string, month: string, isFocused: boolean): void {
    const index = this.#source.indexOf(id);
    if (index >= 0) {
      this.reveal(index, isFocused);
      return;
    }
    this.#wanted = { id, isFocused };
    const section = this.#source.sections.find(month, 0);
    if (section >= 0) this.#moveTo(this.#source.sections.top(section) - this.#scroller.inset);
  }

  tileAt(index: number): Tile | undefined {
    const { section, item } = this.#source.sections.pictureAt(index);
    return this.#mounted.get(section)?.tiles.get(item);
  }

  /** Moves the focus by a picture or, if `isRow` is set, by a row. */
  step(by: 1 | -1, isRow: boolean): void {
    const { sections } = this.#source;
    let next = sections.indexAt(this.#top);
    if (this.#hasFocus) next = isRow ? sections.besideRow(this.focused, by) : this.focused + by;
    if (next >= 0 && next < sections.total) this.reveal(next, true);
  }

  get #hasFocus(): boolean {
    return this.#root.contains(document.activeElement);
  }

  /** Position of the layout below the bar at the top of the window. */
  get #top(): number {
    return this.#scroller.layout + this.#scroller.inset;
  }

  #moveTo(layout: number): void {
    if (this.#isDragged) this.#queue.pause(true);
    this.#scroller.moveTo(layout);
    this.#schedule();
  }

  #moved(speed: number): void {
    const isFast = speed > FAST || this.#isDragged;
    this.#queue.pause(isFast);
    if (!isFast) this.#wantSections();
    this.#schedule();
  }

  #rested(): void {
    this.#queue.pause(false);
    this.#wantSections();
    this.#schedule();
  }

  /** Lays out again if the width has changed. */
  #measured(): void {
    const width = this.#root.clientWidth;
    const isPhone = innerWidth <= 720;
    const metrics = { width, target: isPhone ? 120 : 220, gap: isPhone ? 2 : 4, heading: isPhone ? 44 : 56 };
    const before = this.#source.sections.metrics;
    if (width > 0 && (width !== before.width || metrics.target !== before.target)) {
      this.#changeSections(-1, () => this.#source.sections.measure(metrics));
    } else {
      this.#scroller.shift(0);
    }
    this.#schedule();
  }

  /**
   * Changes sections so that the picture at the top of the window stays where it is. A window at
   * the start or the end of the timeline stays there.
   */
  #changeSections(index: number, change: () => void): void {
    const { isAtStart, pastEnd } = this.#scroller;
    const anchor = isAtStart ? null : this.#source.sections.anchor(this.#top);
    const hadFocus = index < 0 && this.#hasFocus;
    change();
    for (const at of index < 0 ? this.#mounted.keys() : [index]) this.#unmount(at);
    const y = anchor && this.#source.sections.position(anchor);
    if (!isAtStart && pastEnd >= -1) this.#scroller.shift(pastEnd - this.#scroller.pastEnd);
    else this.#scroller.shift(y === null ? 0 : y - this.#top);
    this.#bringWanted(index);
    if (hadFocus) this.reveal(this.focused, true);
    this.#schedule();
  }

  /** Brings the wanted picture into view if it has been loaded. */
  #bringWanted(section: number): void {
    const wanted = this.#wanted;
    const item = wanted ? (this.#source.sections.list[section]?.rows?.id.indexOf(wanted.id) ?? -1) : -1;
    if (!wanted || item < 0) return;
    this.#wanted = null;
    this.reveal(this.#source.sections.first(section) + item, wanted.isFocused);
  }

  #wantSections(): void {
    const { sections } = this.#source;
    const { layout, viewport } = this.#scroller;
    if (sections.list.length > 0) this.#source.want(sections.at(layout - viewport), sections.at(layout + 2 * viewport));
  }

  #drawPlaceholders(): void {
    for (const { tiles } of this.#mounted.values()) {
      for (const tile of tiles.values()) tile.drawPlaceholder();
    }
  }

  #schedule(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#render();
    });
  }

  /** Puts the tiles near the window into the document, and takes the others out. */
  #render(): void {
    const { sections } = this.#source;
    const { layout, viewport, direction } = this.#scroller;
    if (sections.list.length === 0) return;
    const top = layout - viewport * (direction > 0 ? BEHIND : AHEAD);
    const bottom = layout + viewport * (1 + (direction > 0 ? AHEAD : BEHIND));
    const [first, last] = [sections.at(top), sections.at(bottom)];
    for (const [index, mounted] of this.#mounted) {
      const isKept = (index >= first && index <= last) || mounted.element.contains(document.activeElement);
      if (isKept) this.#release(index, mounted, top, bottom);
      else this.#unmount(index);
    }
    const added: Tile[] = [];
    for (let index = first; index <= last; index += 1) this.#fill(index, layout, layout + viewport, Infinity, added);
    let rest = EXTRA_PER_FRAME;
    for (let index = first; index <= last; index += 1) rest -= this.#fill(index, top, bottom, rest, added);
    if (added.length > 0) this.#queue.add(added);
    if (rest <= 0) this.#schedule();
    this.#tell();
  }

  /** Updates the view's signal and the tile that the Tab key reaches. */
  #tell(): void {
    const { sections } = this.#source;
    const y = this.#top + 20;
    const index = sections.indexAt(y);
    const month = sections.list[sections.at(y)]?.month ?? "";
    const before = this.view.peek();
    if (before.index !== index || before.month !== month) this.view.value = { index, month };
    if (!this.#hasFocus) this.focused = index;
    const tile = this.tileAt(this.focused);
    if (!tile || tile.link.tabIndex === 0) return;
    this.#root.querySelector('.tile > a[tabindex="0"]')?.setAttribute("tabindex", "-1");
    tile.link.tabIndex = 0;
  }

  /** Adds up to `limit` tiles of a section between two positions. Returns how many. */
  #fill(index: number, top: number, bottom: number, limit: number, added: Tile[]): number {
    const { sections } = this.#source;
    const section = sections.list[index];
    if (!section) return 0;
    const mounted = this.#mount(index, section);
    const { boxes } = section;
    const range = this.#rowsBetween(index, section, top, bottom);
    if (!range || !boxes) return 0;
    let count = 0;
    const heading = sections.headingOf(section);
    for (let row = range.first; row < range.end && count < limit; row += 1) {
      const y = boxes.tops[row] ?? 0;
      const height = (boxes.tops[row + 1] ?? 0) - y - sections.metrics.gap;
      for (let item = boxes.rows[row] ?? 0; item < (boxes.rows[row + 1] ?? 0); item += 1) {
        if (mounted.tiles.has(item) || this.#tileCount >= TILES_MAX) continue;
        const place = { left: boxes.left[item] ?? 0, width: boxes.width[item] ?? 0, top: y + heading, height };
        const tile = this.#take(sections.first(index) + item, place);
        if (!tile) continue;
        this.#insert(mounted, item, tile);
        added.push(tile);
        count += 1;
      }
    }
    return count;
  }

  #rowsBetween(index: number, section: Section, top: number, bottom: number): { first: number; end: number } | null {
    const { sections } = this.#source;
    const { boxes } = section;
    const start = sections.top(index) + sections.headingOf(section);
    if (!boxes || bottom < start || top > start + section.height) return null;
    return { first: rowAt(boxes, top - start), end: rowAt(boxes, bottom - start) + 1 };
  }

  #take(index: number, place: Place): Tile | null {
    const picture = this.#source.picture(index);
    if (!picture) return null;
    const tile = this.#pool.pop() ?? new Tile();
    tile.onEnd = (isDone) => (isDone ? this.#queue.remove(tile) : this.#queue.add([tile]));
    tile.show(picture, index, place, selection.peek().has(picture.id), this.#linkOf);
    tile.mark(favourites.peek().has(picture.id));
    return tile;
  }

  /** Inserts a tile so that the order of the document is that of the pictures. */
  #insert(mounted: Mounted, item: number, tile: Tile): void {
    let next = mounted.tiles.get(item + 1);
    if (!next) {
      let nearest = Infinity;
      for (const key of mounted.tiles.keys()) if (key > item && key < nearest) nearest = key;
      next = mounted.tiles.get(nearest);
    }
    mounted.list.insertBefore(tile.element, next?.element ?? null);
    mounted.tiles.set(item, tile);
    this.#tileCount += 1;
  }

  /** Removes the tiles of a section outside two positions, but not the one that has the focus. */
  #release(index: number, mounted: Mounted, top: number, bottom: number): void {
    const range = this.#rowsBetween(index, mounted.section, top, bottom);
    const rows = mounted.section.boxes?.rows;
    const first = range && rows ? (rows[range.first] ?? 0) : Infinity;
    const end = range && rows ? (rows[range.end] ?? 0) : 0;
    for (const [item, tile] of mounted.tiles) {
      if ((item >= first && item < end) || tile.element.contains(document.activeElement)) continue;
      mounted.tiles.delete(item);
      this.#give(tile);
    }
  }

  /** Takes a tile out of the document, and keeps it for another picture. */
  #give(tile: Tile): void {
    tile.element.remove();
    tile.clear();
    this.#queue.remove(tile);
    this.#pool.push(tile);
    this.#tileCount -= 1;
  }

  /** Puts a section into the document, or moves it to where it belongs. */
  #mount(index: number, section: Section): Mounted {
    const y = this.#source.sections.top(index) - this.#scroller.base;
    let mounted = this.#mounted.get(index);
    if (!mounted) {
      mounted = { ...sectionElements(section), tiles: new Map(), section, y: NaN };
      this.#mounted.set(index, mounted);
      const next = [...this.#mounted.keys()].filter((it) => it > index);
      this.#root.insertBefore(mounted.element, this.#mounted.get(Math.min(...next))?.element ?? null);
    }
    if (mounted.y !== y) {
      mounted.y = y;
      mounted.element.style.transform = `translateY(${y}px)`;
    }
    return mounted;
  }

  #unmount(index: number): void {
    const mounted = this.#mounted.get(index);
    if (!mounted) return;
    for (const tile of mounted.tiles.values()) this.#give(tile);
    mounted.element.remove();
    this.#mounted.delete(index);
  }

  readonly #focusedIn = (event: FocusEvent): void => {
    const index = indexOfTile(event.target);
    if (index >= 0) this.focused = index;
  };

  #markTiles(selected: ReadonlyMap<string, string>, liked: ReadonlySet<string>): void {
    this.#root.classList.toggle("selecting", selected.size > 0);
    for (const { tiles } of this.#mounted.values()) {
      for (const tile of tiles.values()) {
        const id = tile.picture?.id ?? "";
        tile.select(selected.has(id));
        tile.mark(liked.has(id));
      }
    }
  }
}
