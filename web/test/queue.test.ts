import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import * as q from "../src/music/queue.ts";
import type { Track } from "../src/music/types.ts";

const track = (id: string, artist = "A"): Track => ({ id, title: id, artist, artistIds: [], durationMs: 1000, file: `/${id}.flac`, cover: "/c" });
const ids = (queue: q.Queue) => queue.entries.map((entry) => entry.track.id).join(" ");
const playing = (queue: q.Queue) => q.present(queue)?.track.id;
const abc = q.playNow(q.EMPTY, [track("a"), track("b"), track("c")], 1);

test("tracks are added behind the present one and at the end", () => {
  assert.equal(playing(abc), "b");
  const queue = q.addLast(q.addNext(abc, [track("x"), track("y")]), [track("z")]);
  assert.equal(ids(queue), "a b x y c z");
  assert.equal(playing(queue), "b");
});

test("an empty queue starts with what is added", () => {
  assert.equal(playing(q.addLast(q.EMPTY, [track("a")])), "a");
  assert.equal(playing(q.playNow(q.EMPTY, [])), undefined);
});

test("removing keeps the present entry, or gives its place to the next", () => {
  const key = (index: number) => abc.entries[index]?.key ?? 0;
  assert.equal(playing(q.remove(abc, key(0))), "b");
  assert.equal(playing(q.remove(abc, key(1))), "c");
  const last = q.remove(q.jump(abc, key(2)), key(2));
  assert.equal(playing(last), "b");
  assert.equal(playing(q.clear(abc)), undefined);
});

test("a rating reaches all entries of its track", () => {
  const queue = q.rate(q.addLast(abc, [track("b")]), "b", 4);
  assert.deepEqual(queue.entries.map((entry) => entry.track.rating), [undefined, 4, undefined, 4]);
  assert.equal(playing(queue), "b");
});

test("moving keeps the present entry", () => {
  const queue = q.move(abc, abc.entries[1]?.key ?? 0, 0);
  assert.equal(ids(queue), "b a c");
  assert.equal(playing(queue), "b");
});

test("repeat decides what follows", () => {
  const last = q.jump(abc, abc.entries[2]?.key ?? 0);
  assert.equal(q.following(abc, false), 2);
  assert.equal(q.following(last, false), -1);
  assert.equal(q.following(q.setRepeat(last, "all"), false), 0);
  assert.equal(q.following(q.setRepeat(last, "one"), false), 2);
  assert.equal(q.following(q.setRepeat(abc, "one"), true), 2);
  assert.equal(q.following(q.EMPTY, true), -1);
  assert.equal(q.preceding(q.jump(abc, abc.entries[0]?.key ?? 0)), 0);
});

test("a list that is too long keeps what follows the start", () => {
  const many = Array.from({ length: 6000 }, (_, index) => track(String(index)));
  const queue = q.playNow(q.EMPTY, many, 5500);
  assert.equal(queue.entries.length, q.ENTRIES_MAX);
  assert.equal(playing(queue), "5500");
  assert.equal(q.addLast(queue, many).entries.length, q.ENTRIES_MAX);
});

const artists = fc.array(fc.constantFrom("A", "B", "C", "D"), { minLength: 1, maxLength: 40 });
const seeded = fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 50, maxLength: 50 });
const generator = (values: number[]) => {
  let index = 0;
  return () => values[index++ % values.length] ?? 0;
};

test("shuffle is a permutation, keeps what was played and can be undone", () => {
  fc.assert(
    fc.property(artists, fc.nat(), seeded, (names, start, values) => {
      const tracks = names.map((artist, index) => track(String(index), artist));
      const queue = q.playNow(q.EMPTY, tracks, start % tracks.length);
      const shuffled = q.setShuffle(queue, true, generator(values));
      const sorted = (it: q.Queue) => it.entries.map((entry) => entry.key).sort((a, b) => a - b);
      assert.deepEqual(sorted(shuffled), sorted(queue));
      assert.deepEqual(shuffled.entries.slice(0, queue.at + 1), queue.entries.slice(0, queue.at + 1));
      assert.deepEqual(q.setShuffle(shuffled, false), queue);
    }),
  );
});

test("shuffle keeps the tracks of an artist apart where that is possible", () => {
  fc.assert(
    fc.property(artists, seeded, (names, values) => {
      const most = Math.max(...["A", "B", "C", "D"].map((name) => names.filter((it) => it === name).length));
      fc.pre(most <= Math.ceil(names.length / 2));
      const tracks = names.map((artist, index) => track(String(index), artist));
      const { entries } = q.playShuffled(q.EMPTY, tracks, generator(values));
      for (let index = 1; index < entries.length; index += 1) {
        assert.notEqual(entries[index]?.track.artist, entries[index - 1]?.track.artist);
      }
    }),
  );
});

test("any sequence of commands leaves a valid queue", () => {
  const command = fc.record({
    name: fc.constantFrom("next", "last", "remove", "move", "shuffle", "unshuffle", "jump", "clear", "now"),
    n: fc.nat(20),
    to: fc.nat(20),
  });
  fc.assert(
    fc.property(fc.array(command, { maxLength: 30 }), (commands) => {
      let queue = q.EMPTY;
      for (const { name, n, to } of commands) {
        const key = queue.entries[n % Math.max(1, queue.entries.length)]?.key ?? -1;
        const before = q.present(queue)?.key;
        if (name === "next") queue = q.addNext(queue, [track("n"), track("m")]);
        else if (name === "last") queue = q.addLast(queue, [track("l")]);
        else if (name === "remove") queue = q.remove(queue, key);
        else if (name === "move") queue = q.move(queue, key, to);
        else if (name === "shuffle") queue = q.setShuffle(queue, true);
        else if (name === "unshuffle") queue = q.setShuffle(queue, false);
        else if (name === "jump") queue = q.jump(queue, key);
        else if (name === "clear") queue = q.clear(queue);
        else queue = q.playNow(queue, [track("a"), track("b"), track("c")], n % 3);
        assert.ok(q.isQueue(queue));
        assert.ok(queue.entries.length === 0 ? queue.at === -1 : queue.at >= 0, name);
        assert.equal(new Set(queue.entries.map((entry) => entry.key)).size, queue.entries.length);
        if (queue.given) assert.deepEqual([...queue.given].sort(), queue.entries.map((entry) => entry.key).sort());
        if (["next", "last", "move", "shuffle", "unshuffle"].includes(name) && before !== undefined) assert.equal(q.present(queue)?.key, before);
      }
    }),
  );
});

test("a stored queue may have tracks without a cover", () => {
  const { cover: _, ...bare } = track("a");
  assert.ok(q.isQueue(JSON.parse(JSON.stringify(q.playNow(q.EMPTY, [bare])))));
});

test("stored values that are no queue are refused", () => {
  assert.ok(q.isQueue(JSON.parse(JSON.stringify(abc))));
  for (const value of [null, 1, {}, { ...abc, at: 3 }, { ...abc, given: [1] }, { ...abc, entries: [{ key: 1 }] }, { ...abc, repeat: "twice" }]) {
    assert.ok(!q.isQueue(value));
  }
});
