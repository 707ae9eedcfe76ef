import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { SCROLL_MAX, follow, isStuck, spacesFor, toLayout, toScroll } from "../src/photos/spaces.ts";

const height = fc.double({ min: 0, max: 60_000_000, noNaN: true });
const part = fc.double({ min: 0, max: 1, noNaN: true });

test("the scrolled height is bounded, and equal to the layout's where that fits", () => {
  assert.deepEqual(spacesFor(5_000_000, 900), { layout: 4_999_100, scroll: 4_999_100 });
  assert.equal(spacesFor(31_000_000, 900).scroll, SCROLL_MAX - 900);
  assert.deepEqual(spacesFor(100, 900), { layout: 0, scroll: 0 });
});

test("every position of the layout can be scrolled to", () => {
  fc.assert(
    fc.property(height, part, (total, at) => {
      const spaces = spacesFor(total, 900);
      const wanted = spaces.layout * at;
      const scroll = toScroll(spaces, wanted);
      assert.ok(scroll >= 0 && scroll <= spaces.scroll);
      assert.ok(Math.abs(toLayout(spaces, scroll) - wanted) < 0.01);
    }),
  );
});

test("both ends of 400,000 pictures are reached", () => {
  const spaces = spacesFor(31_193_900, 844);
  assert.equal(toLayout(spaces, 0), 0);
  assert.equal(toLayout(spaces, spaces.scroll), spaces.layout);
});

test("later positions of the window show later pictures", () => {
  fc.assert(
    fc.property(height, part, part, (total, a, b) => {
      const spaces = spacesFor(total, 900);
      const [low, high] = a < b ? [a, b] : [b, a];
      assert.ok(toLayout(spaces, spaces.scroll * low) <= toLayout(spaces, spaces.scroll * high) + 1e-6);
    }),
  );
});

test("small steps move the layout by as much, large steps jump", () => {
  const spaces = spacesFor(30_000_000, 900);
  const before = { scroll: 4_000_000, layout: toLayout(spaces, 4_000_000) };
  assert.equal(follow(spaces, before, 4_000_120, 2000).layout, before.layout + 120);
  assert.equal(follow(spaces, before, 6_000_000, 2000).layout, toLayout(spaces, 6_000_000));
});

test("scrolling in small steps with rests reaches both ends", () => {
  const spaces = spacesFor(20_000_000, 900);
  for (const direction of [1, -1]) {
    let at = { scroll: toScroll(spaces, 18_995_000), layout: 18_995_000 };
    if (direction < 0) at = { scroll: toScroll(spaces, 1_005_000), layout: 1_005_000 };
    for (let step = 0; step < 5000; step += 1) {
      const scroll = Math.min(spaces.scroll, Math.max(0, at.scroll + direction * 700));
      at = follow(spaces, at, scroll, 2000);
      if (step % 100 === 99 || isStuck(spaces, at)) at = { scroll: toScroll(spaces, at.layout), layout: at.layout };
    }
    assert.equal(at.layout, direction > 0 ? spaces.layout : 0);
  }
});
