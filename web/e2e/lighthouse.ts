// Scores of Lighthouse on its simulated phone.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import lighthouse from "lighthouse";

import { launch } from "./browser.ts";

/** Lowest score of each category, in per cent. */
const SCORES_MIN = { performance: 95, accessibility: 100, "best-practices": 100 } as const;
type Category = keyof typeof SCORES_MIN;

/**
 * Number of runs at most, of which the best counts. The simulation depends on times that are
 * measured, which other work of the machine can only prolong.
 */
const RUNS_MAX = 4;

/** Runs Lighthouse on a URL until the scores suffice, and stores the reports. @throws Error if they never do */
export async function measure(url: string, name: string, artifacts: string): Promise<string> {
  let line = "";
  for (let run = 0; run < RUNS_MAX; run += 1) {
    const { scores, weak } = await audit(url, join(artifacts, `lighthouse-${name}-${run}.html`));
    line = scores.map(([category, score]) => `${category} ${score}`).join(", ");
    if (scores.every(([category, score]) => score >= SCORES_MIN[category])) return line;
    line += `; weak: ${weak.join(", ")}`;
  }
  throw new Error(line);
}

interface Audited {
  /** Score of each category, in per cent. */
  readonly scores: readonly (readonly [category: Category, score: number])[];
  /** Names of the audits that lowered a score. */
  readonly weak: readonly string[];
}

/** Runs Lighthouse once, in a browser of its own, and stores its report. */
async function audit(url: string, file: string): Promise<Audited> {
  const port = 9300 + Math.floor(Math.random() * 600);
  const browser = await launch([`--remote-debugging-port=${port}`]);
  try {
    const categories = Object.keys(SCORES_MIN) as Category[];
    const result = await lighthouse(url, { port, onlyCategories: categories, output: "html", logLevel: "error" });
    if (!result) throw new Error("lighthouse: no result");
    const { report, lhr } = result;
    await writeFile(file, String(report));
    const refs = categories.flatMap((category) => lhr.categories[category]?.auditRefs ?? []);
    const audits = refs.filter((ref) => ref.weight > 0).map((ref) => lhr.audits[ref.id]);
    const weak = audits.flatMap((it) => (it && it.score !== null && it.score < 0.9 ? [it.id] : []));
    return { scores: categories.map((it) => [it, Math.round(100 * (lhr.categories[it]?.score ?? 0))] as const), weak };
  } finally {
    await browser.close();
  }
}
