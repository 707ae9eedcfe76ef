import assert from "node:assert/strict";

import type { Journey } from "../journeys.ts";
import { text } from "../messages.ts";
import { ALBUMS, type Album } from "../music.ts";
import { playAlbum } from "../player.ts";
import type { Visit } from "../visit.ts";

/** Largest silence between two tracks, in milliseconds. */
const SILENCE_MAX_MS = 20;
/** Variant in which the silence is measured: neither width nor colours change it. */
const MEASURED = "1400-light";

/**
 * How the sound of an audio element is read: by an audio graph that it is routed into, which has no
 * other delay than that of the player, or as a copy of its output, which starts when the output does.
 */
type Tap = "graph" | "output";

/** Sound without a pause from one of the audio elements, in samples since the tap was opened. */
interface Run {
  readonly element: number;
  readonly start: number;
  end: number;
}

/** Samples that the tap has read. */
interface Tape {
  readonly runs: readonly Run[];
  readonly samples: number;
  readonly sampleRate: number;
  /** Samples that the clock of the audio graph has counted. */
  readonly clock: number;
}

/** Globals of the page while it is tapped. */
type Tapped = typeof globalThis & { audioElements: HTMLAudioElement[]; tape: () => Tape };

/** Tones in adjoining tracks: the silence between them in the sound of the player's elements. */
export const gapless: Journey = {
  name: "gapless",
  isSmoke: false,
  logsIn: false,
  run: async (visit) => {
    if (visit.variant.name !== MEASURED) return `measured in ${MEASURED}`;
    await visit.page.addInitScript(collectElements);
    const found: string[] = [];
    for (const album of ALBUMS) {
      const graph = await measure(visit, album, "graph");
      const output = await measure(visit, album, "output");
      found.push(`${album.extension} ${graph.toFixed(1)} ms (${output.toFixed(1)} ms with the start of the output)`);
      assert.ok(graph <= SILENCE_MAX_MS, found.join(", "));
    }
    return `silence between tracks: ${found.join(", ")}`;
  },
};

/** Collects the audio elements that the page makes. Runs in the page. */
function collectElements(): void {
  const tapped = globalThis as Tapped;
  const Native = Audio;
  tapped.audioElements = [];
  tapped.Audio = function () {
    const element = new Native();
    tapped.audioElements.push(element);
    return element;
  } as unknown as typeof Audio;
}

/**
 * Plays the first track of an album into the second. Returns the silence between them in milliseconds;
 * it is negative if the tracks overlap.
 */
async function measure(visit: Visit, album: Album, tap: Tap): Promise<number> {
  const { page, variant } = visit;
  const player = await playAlbum(visit, album);
  await page.waitForFunction(() => {
    const { audioElements } = globalThis as Tapped;
    return audioElements.filter((it) => it.readyState >= HTMLMediaElement.HAVE_ENOUGH_DATA).length === 2;
  });
  await page.evaluate(openTap, tap);
  // A jump leaves three seconds of the track.
  await player.getByRole("button", { name: text(variant, "music.pause"), exact: true }).first().focus();
  await page.keyboard.press("ArrowRight");
  await player.getByText(album.tracks[1] ?? "", { exact: true }).first().waitFor();
  const isSecondHeard = () => {
    const { runs, sampleRate } = (globalThis as Tapped).tape();
    return runs.some((it) => it.element !== runs[0]?.element && it.end - it.start > sampleRate / 2);
  };
  await page.waitForFunction(isSecondHeard);
  const tape = await page.evaluate(() => (globalThis as Tapped).tape());
  const lost = tape.clock - tape.samples;
  assert.ok(lost < tape.sampleRate, `${lost} samples were not read`);
  return silenceIn(tape);
}

/** Returns the silence between the sound of the two elements, in milliseconds. */
function silenceIn({ runs, sampleRate }: Tape): number {
  const first = runs[0]?.element;
  const end = Math.max(...runs.filter((run) => run.element === first).map((run) => run.end));
  const start = Math.min(...runs.filter((run) => run.element !== first).map((run) => run.start));
  return ((start - end) / sampleRate) * 1000;
}

/** Reads the sound of the two elements that have tracks. Runs in the page. */
function openTap(tap: Tap): void {
  const tapped = globalThis as Tapped;
  type Captured = HTMLAudioElement & { captureStream(): MediaStream };
  /** Amplitude above which there is sound; that of the tones is 0.125. */
  const audible = 0.002;
  /** Samples without sound that do not end a run; a tone crosses zero in fewer. */
  const pause = 48;
  const elements = tapped.audioElements.filter((it) => it.currentSrc);
  const context = new AudioContext();
  const nodeOf = (element: HTMLAudioElement) =>
    tap === "graph" ? context.createMediaElementSource(element) : context.createMediaStreamSource((element as Captured).captureStream());
  const merger = context.createChannelMerger(elements.length);
  elements.forEach((it, element) => nodeOf(it).connect(merger, 0, element));
  const reader = context.createScriptProcessor(16384, elements.length, 1);
  merger.connect(reader);
  reader.connect(context.destination);
  const runs: Run[] = [];
  const started = context.currentTime;
  let samples = 0;
  reader.addEventListener("audioprocess", ({ inputBuffer }) => {
    elements.forEach((_, element) => {
      let run = runs.findLast((it) => it.element === element);
      inputBuffer.getChannelData(element).forEach((value, index) => {
        if (Math.abs(value) < audible) return;
        const at = samples + index;
        if (!run || at - run.end > pause) {
          run = { element, start: at, end: at };
          runs.push(run);
        }
        run.end = at;
      });
    });
    samples += inputBuffer.length;
  });
  const clock = () => (context.currentTime - started) * context.sampleRate;
  tapped.tape = () => ({ runs, samples, sampleRate: context.sampleRate, clock: clock() });
}
