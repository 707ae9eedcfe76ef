import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { extensionOf, mayPlay, reactionTo } from "../src/music/formats.ts";

/** Audio element as far as the engine uses it, with a position that the test moves. */
class FakeAudio extends EventTarget {
  static made: FakeAudio[] = [];
  static refused = new Set<FakeAudio>();
  #src: string | null = null;
  preload = "";
  volume = 1;
  paused = true;
  seeking = false;
  ended = false;
  currentTime = 0;
  duration = Number.NaN;
  readyState = 0;
  error: { code: number } | null = null;

  constructor() {
    super();
    FakeAudio.made.push(this);
  }

  set src(value: string) {
    this.#src = value;
  }

  getAttribute(): string | null {
    return this.#src;
  }

  removeAttribute(): void {
    this.#src = null;
  }

  load(): void {
    this.paused = true;
    this.ended = false;
    this.currentTime = 0;
    this.duration = this.#src ? 10 : Number.NaN;
    this.readyState = this.#src ? 4 : 0;
  }

  async play(): Promise<void> {
    if (FakeAudio.refused.has(this)) throw new DOMException("", "NotAllowedError");
    this.paused = false;
    this.dispatchEvent(new Event("play"));
  }

  pause(): void {
    this.paused = true;
    this.dispatchEvent(new Event("pause"));
  }

  /** Lets the clock and the track run. */
  run(ms: number, isToTell = true): void {
    if (!this.paused) this.currentTime = Math.min(this.duration, this.currentTime + ms / 1000);
    if (isToTell) this.dispatchEvent(new Event("timeupdate"));
    mock.timers.tick(ms);
  }

  finish(): void {
    this.ended = true;
    this.paused = true;
    this.dispatchEvent(new Event("ended"));
  }
}

Object.assign(globalThis, { Audio: FakeAudio, HTMLMediaElement: { HAVE_FUTURE_DATA: 3 } });
const { Engine } = await import("../src/music/engine.ts");

function started() {
  FakeAudio.made = [];
  FakeAudio.refused = new Set();
  const events: string[] = [];
  const engine = new Engine({
    onTime: () => undefined,
    onAdvance: () => events.push("advance"),
    onEnd: () => events.push("end"),
    onPlaying: (is) => events.push(is ? "playing" : "paused"),
    onError: (code, src) => events.push(`error ${code} of ${src}`),
    onRefused: () => events.push("refused"),
  });
  const [first, second] = FakeAudio.made as [FakeAudio, FakeAudio];
  engine.load({ src: "/a" }, 0, true);
  return { engine, events, first, second };
}

beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
afterEach(() => mock.timers.reset());

test("the prepared track starts when the first one ends, not when the event comes", () => {
  const { engine, events, first, second } = started();
  engine.prepare({ src: "/b" });
  first.currentTime = 9.4;
  first.run(0);
  assert.ok(second.paused);
  first.currentTime = 9.97;
  mock.timers.tick(580);
  assert.ok(second.paused);
  first.currentTime = 9.999;
  mock.timers.tick(15);
  assert.ok(!second.paused);
  assert.ok(!first.paused, "the first track plays to its end");
  first.finish();
  assert.deepEqual(events, ["playing", "playing", "advance"]);
});

test("the event comes first if the timer is late", () => {
  const { engine, events, first, second } = started();
  engine.prepare({ src: "/b" });
  first.currentTime = 9.5;
  first.run(0);
  first.finish();
  assert.ok(!second.paused);
  assert.equal(events.filter((it) => it === "advance").length, 1);
  mock.timers.tick(2000);
  assert.equal(events.filter((it) => it === "advance").length, 1);
});

test("without a prepared track an event reports the end", () => {
  const { events, first } = started();
  first.currentTime = 9.9;
  first.run(0);
  first.finish();
  assert.deepEqual(events, ["playing", "end"]);
});

test("a pause or a jump before the end cancels the start", () => {
  for (const act of ["pause", "seek"] as const) {
    const { engine, events, first, second } = started();
    engine.prepare({ src: "/b" });
    first.currentTime = 9.5;
    first.run(0);
    if (act === "pause") engine.pause();
    else engine.seek(1);
    mock.timers.tick(3000);
    assert.ok(second.paused, act);
    assert.ok(!events.includes("advance"), act);
  }
});

test("a prepared track that is asked for starts at once", () => {
  const { engine, first, second } = started();
  engine.prepare({ src: "/b" });
  engine.load({ src: "/b" }, 0, true);
  assert.ok(first.paused);
  assert.ok(!second.paused);
});

test("an element that may not play hands the track to the one that may", async () => {
  const { engine, events, first, second } = started();
  FakeAudio.refused.add(second);
  engine.prepare({ src: "/b" });
  first.currentTime = 9.5;
  first.run(0);
  first.finish();
  await new Promise(setImmediate);
  assert.equal(first.getAttribute(), "/b");
  assert.ok(!first.paused);
  assert.ok(!events.includes("refused"));
});

test("the volume follows the gain of the track, also after the elements swap", async () => {
  const { engine, first, second } = started();
  engine.setVolume((gain) => (gain?.trackGain === -6 ? 0.5 : 0.8));
  assert.equal(first.volume, 0.8);
  engine.prepare({ src: "/b", gain: { trackGain: -6 } });
  assert.deepEqual([first.volume, second.volume], [0.8, 0.5]);
  engine.setVolume((gain) => (gain?.trackGain === -6 ? 0.25 : 0.4));
  assert.deepEqual([first.volume, second.volume], [0.4, 0.25]);
  FakeAudio.refused.add(second);
  first.currentTime = 9.5;
  first.run(0);
  first.finish();
  await new Promise(setImmediate);
  assert.equal(first.getAttribute(), "/b");
  assert.equal(first.volume, 0.25);
});

test("the engine names the source that failed", () => {
  const { engine, events, first } = started();
  engine.load({ src: "/b" }, 0, true);
  first.error = { code: 4 };
  first.dispatchEvent(new Event("error"));
  assert.equal(events.at(-1), "error 4 of /b");
  assert.equal(engine.source, "/b");
});

test("a track that the server does not transcode is played as it is, or skipped for the right reason", () => {
  const transcoded = { isDamaged: false, isTranscoded: true, isFilePlayable: false };
  for (const status of [200, 404, 429, 500, 503]) {
    assert.equal(reactionTo({ ...transcoded, status, isFilePlayable: true }), "file");
  }
  const reasons = [200, 403, 404, 422, 429, 500, 503].map((status) => reactionTo({ ...transcoded, status }));
  assert.deepEqual(reasons, ["format", "denied", "missing", "broken", "busy", "failed", "busy"]);
  const file = { isDamaged: false, isTranscoded: false, isFilePlayable: true };
  assert.deepEqual([200, 403, 404, 503].map((status) => reactionTo({ ...file, status })), ["format", "denied", "missing", "busy"]);
  assert.equal(reactionTo({ ...file, status: 206, isDamaged: true }), "broken");
});

test("a browser decides by the type of the file, and tries what it does not know", () => {
  const canPlay = (type: string) => (type.startsWith("audio/flac") ? "maybe" : "");
  assert.ok(mayPlay("/a/b.FLAC", canPlay));
  assert.ok(!mayPlay("/a/b.aiff", canPlay));
  assert.ok(mayPlay("/a/b.xyz", canPlay));
  assert.equal(extensionOf("/a.b/c"), "");
  assert.equal(extensionOf("/a%20b/c.Mp3"), "mp3");
});
