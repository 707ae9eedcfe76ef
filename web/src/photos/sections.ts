import { type Boxes, type Metrics, lastAtMost, layOut, rowAt, rowOf } from "./layout.ts";

/** Month and number of its pictures, as `GET /-/api/timeline` lists them. */
export type Month = readonly [month: string, count: number];

/** Pictures of a section in columns, as `GET /-/api/timeline/MONTH` lists them. */
export interface Rows {
  readonly from: number;
  readonly total: number;
  readonly id: readonly string[];
  readonly file: readonly string[];
  readonly day: readonly number[];
  readonly ratio: readonly number[];
  readonly placeholder: readonly (string | null)[];
  readonly colour: readonly (string | null)[];
}

/** Part of a month that is loaded and laid out as one. */
export interface Section {
  readonly month: string;
  /** Index of the first picture within the month. */
  readonly from: number;
  readonly count: number;
  /** True if the heading of the month stands above this section. */
  readonly isFirst: boolean;
  readonly isLast: boolean;
  rows: Rows | null;
  boxes: Boxes | null;
  /** Height with the heading: estimated until the section has been laid out once. */
  height: number;
}

/** Place in the timeline that stays the same while heights change. */
export interface Anchor {
  readonly month: string;
  readonly from: number;
  /** Picture at the place, if its section is loaded. */
  readonly id: string | null;
  /** Distance of the place from the picture's row. */
  readonly offset: number;
  /** Place within the section's height, from 0 to 1. */
  readonly part: number;
}

export interface SectionMetrics extends Metrics {
  /** Height of the heading of a month. */
  readonly heading: number;
}

/** Maximum number of pictures of a section: the server sends no more per request. */
export const SECTION_MAX = 1000;
/** Mean ratio that is assumed for pictures that are not loaded. */
const MEAN_RATIO = 1.38;

/** Vertical order of all sections of a timeline. */
export class Sections {
  readonly list: readonly Section[];
  /** Number of pictures. */
  readonly total: number;
  metrics: SectionMetrics;
  /** Position of each section, and the height of all at the end. */
  #tops: Float64Array;
  /** Index in the timeline of each section's first picture. */
  readonly #firsts: Uint32Array;

  constructor(months: readonly Month[], metrics: SectionMetrics) {
    const list: Section[] = [];
    for (const [month, total] of months) {
      for (let from = 0; from < total; from += SECTION_MAX) {
        const count = Math.min(SECTION_MAX, total - from);
        list.push({ month, from, count, isFirst: from === 0, isLast: from + count === total, rows: null, boxes: null, height: 0 });
      }
    }
    this.list = list;
    this.metrics = metrics;
    this.#tops = new Float64Array(list.length + 1);
    this.#firsts = new Uint32Array(list.length + 1);
    list.forEach((section, index) => (this.#firsts[index + 1] = (this.#firsts[index] ?? 0) + section.count));
    this.total = this.#firsts[list.length] ?? 0;
    this.measure(metrics);
  }

  get height(): number {
    return this.#tops[this.list.length] ?? 0;
  }

  top(index: number): number {
    return this.#tops[index] ?? 0;
  }

  /** Returns the index in the timeline of a section's first picture. */
  first(index: number): number {
    return this.#firsts[index] ?? 0;
  }

  /** Returns the height of the heading above the pictures of a section; 0 without a heading. */
  headingOf(section: Section): number {
    return section.isFirst ? this.metrics.heading : 0;
  }

  /** Lays everything out again for other metrics. */
  measure(metrics: SectionMetrics): void {
    this.metrics = metrics;
    for (const section of this.list) this.#layOut(section);
    this.#stack(0);
  }

  /** Sets the pictures of a section. To keep the scroll position, take an anchor before. */
  load(index: number, rows: Rows): void {
    const section = this.list[index];
    if (!section) return;
    section.rows = rows;
    this.#layOut(section);
    this.#stack(index);
  }

  /** Drops the pictures of a section, but keeps its height. */
  unload(index: number): void {
    const section = this.list[index];
    if (!section) return;
    section.rows = null;
    section.boxes = null;
  }

  /** Returns the index of the section at the position `y`. */
  at(y: number): number {
    return lastAtMost(this.#tops, y, Math.max(0, this.list.length - 1));
  }

  find(month: string, from: number): number {
    return this.list.findIndex((it) => it.month === month && it.from === from);
  }

  /** Returns the section of a picture of the timeline, and the index of the picture within it. */
  pictureAt(index: number): { section: number; item: number } {
    const section = lastAtMost(this.#firsts, index, Math.max(0, this.list.length - 1));
    return { section, item: index - this.first(section) };
  }

  /** Returns the position of a picture's row, or an estimate. */
  topOf(section: number, item: number): number {
    const it = this.list[section];
    if (!it) return 0;
    const start = this.top(section) + this.headingOf(it);
    if (it.boxes) return start + (it.boxes.tops[rowOf(it.boxes, item)] ?? 0);
    return start + ((it.height - this.headingOf(it)) * item) / it.count;
  }

  /**
   * Returns the index in the timeline of the picture at the position `y`; an estimate if the
   * picture is not loaded.
   */
  indexAt(y: number): number {
    const index = this.at(y);
    const section = this.list[index];
    if (!section) return 0;
    const inside = y - this.top(index) - this.headingOf(section);
    if (inside <= 0) return this.first(index);
    if (section.boxes) return this.first(index) + (section.boxes.rows[rowAt(section.boxes, inside)] ?? 0);
    const part = inside / (section.height - this.headingOf(section));
    return this.first(index) + Math.min(section.count - 1, Math.floor(part * section.count));
  }

  /** Returns the picture in the next or previous row that is nearest to a picture's middle. */
  besideRow(index: number, by: 1 | -1): number {
    const { section, item } = this.pictureAt(index);
    const boxes = this.list[section]?.boxes;
    if (!boxes) return index;
    const middle = (boxes.left[item] ?? 0) + (boxes.width[item] ?? 0) / 2;
    const row = rowOf(boxes, item) + by;
    if (row >= 0 && row < boxes.rows.length - 1) return this.first(section) + nearestIn(boxes, row, middle);
    const other = this.list[section + by];
    if (!other) return index;
    if (!other.boxes) return by > 0 ? this.first(section + 1) : this.first(section) - 1;
    return this.first(section + by) + nearestIn(other.boxes, by > 0 ? 0 : other.boxes.rows.length - 2, middle);
  }

  /** Returns the anchor of the position `y`. */
  anchor(y: number): Anchor | null {
    const index = this.at(y);
    const section = this.list[index];
    if (!section) return null;
    const inside = y - this.top(index);
    const part = inside / section.height;
    const { month, from, rows, boxes } = section;
    const below = inside - this.headingOf(section);
    if (!rows || !boxes || below < 0) return { month, from, id: null, offset: inside, part };
    const row = rowAt(boxes, below);
    return { month, from, id: rows.id[boxes.rows[row] ?? 0] ?? null, offset: below - (boxes.tops[row] ?? 0), part };
  }

  /** Returns the present position of an anchor, or `null` if its month is gone. */
  position(anchor: Anchor): number | null {
    let index = this.find(anchor.month, anchor.from);
    if (index < 0) index = this.find(anchor.month, 0);
    const section = this.list[index];
    if (!section) return null;
    const top = this.top(index);
    const item = anchor.id && section.rows ? section.rows.id.indexOf(anchor.id) : -1;
    if (item >= 0) return this.topOf(index, item) + anchor.offset;
    if (anchor.id === null && anchor.offset < this.headingOf(section)) return top + anchor.offset;
    return top + anchor.part * section.height;
  }

  #layOut(section: Section): void {
    const heading = this.headingOf(section);
    if (section.rows) {
      section.boxes = layOut(section.rows.ratio, this.metrics, section.isLast);
      section.height = heading + (section.boxes.tops.at(-1) ?? 0);
    } else {
      section.boxes = null;
      section.height = heading + this.#estimate(section.count);
    }
  }

  /** Returns the height that `count` pictures are likely to have. */
  #estimate(count: number): number {
    const { width, target, gap } = this.metrics;
    return Math.ceil((count * MEAN_RATIO * target) / Math.max(1, width)) * (target + gap);
  }

  #stack(start: number): void {
    for (let index = start; index < this.list.length; index += 1) {
      this.#tops[index + 1] = this.top(index) + (this.list[index]?.height ?? 0);
    }
  }
}

/** Returns the picture of a row whose middle is nearest to a distance from the start. */
function nearestIn({ left, width, rows }: Boxes, row: number, middle: number): number {
  let best = rows[row] ?? 0;
  const distance = (item: number) => Math.abs((left[item] ?? 0) + (width[item] ?? 0) / 2 - middle);
  for (let item = best; item < (rows[row + 1] ?? 0); item += 1) {
    if (distance(item) < distance(best)) best = item;
  }
  return best;
}
