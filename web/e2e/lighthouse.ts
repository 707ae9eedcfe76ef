// Scores of Lighthouse on its simulated phone.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import lighthouse from "lighthouse";

import { launch } from "./browser.ts";

/** Lowest score of each category, in per cent. */
const SCORES_MIN = { performance: 95, accessibility: 100, "best-practices": 100 } as const;
type Category = keyof typeof SCORES_MIN;

/** Number of runs, of which the median counts. The simulation depends on measured times. */
const RUNS = 3;

/** Runs Lighthouse on a URL, and stores the reports. @throws Error if a median is too low */
export async function measure(url: string, name: string, artifacts: string): Promise<string> {
  const scores: Record<Category, number[]> = { performance: [], accessibility: [], "best-practices": [] };
  const failed = new Set<string>();
  for (let run = 0; run < RUNS; run += 1) {
    const port = 9300 + Math.floor(Math.random() * 600);
    const browser = await launch([`--remote-debugging-port=${port}`]);
    try {
      const categories = Object.keys(SCORES_MIN);
      const result = await lighthouse(url, { port, onlyCategories: categories, output: "html", logLevel: "error" });
      if (!result) throw new Error("lighthouse: no result");
      const { report, lhr } = result;
      await writeFile(join(artifacts, `lighthouse-${name}-${run}.html`), String(report));
      for (const category of categories as Category[]) {
        const { score, auditRefs } = lhr.categories[category] ?? { score: 0, auditRefs: [] };
        scores[category].push(Math.round(100 * (score ?? 0)));
        const audits = auditRefs.filter((ref) => ref.weight > 0).map((ref) => lhr.audits[ref.id]);
        for (const audit of audits) if (audit && audit.score !== null && audit.score < 0.9) failed.add(audit.id);
      }
    } finally {
      await browser.close();
    }
  }
  const medians = (Object.keys(SCORES_MIN) as Category[]).map((category) => [category, median(scores[category])] as const);
  const line = medians.map(([category, score]) => `${category} ${score}`).join(", ");
  if (medians.some(([category, score]) => score < SCORES_MIN[category])) throw new Error(`${line}; weak: ${[...failed].join(", ")}`);
  return line;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
