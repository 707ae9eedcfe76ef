import assert from "node:assert/strict";
import { test } from "node:test";

import { Source } from "../src/photos/source.ts";

/** Months of the timeline: far enough apart that the load of the last stops that of the first. */
const MONTHS = ["2024-07", "2024-06", "2024-05", "2024-04", "2024-03"];

test("a section that is wanted again before its aborted load has ended is loaded again", async (context) => {
  const asked: string[] = [];
  context.mock.method(globalThis, "fetch", async (target: string, { signal }: RequestInit) => {
    const month = /timeline\/([\d-]+)/.exec(target)?.[1];
    if (!month) return Response.json({ generation: "1", total: 5, months: MONTHS.map((it) => [it, 1]) });
    asked.push(month);
    // A request that is aborted ends some time later, as on a loaded machine.
    return new Promise<Response>((_, reject) => {
      signal?.addEventListener("abort", () => setTimeout(() => reject(new DOMException("", "AbortError")), 20));
    });
  });
  const source = new Source({});
  await source.loadMonths();
  source.want(0, 0);
  source.want(4, 4);
  source.want(0, 0);
  assert.deepEqual(asked, ["2024-07", "2024-03", "2024-07"]);
  await new Promise((resolve) => setTimeout(resolve, 40));
  source.want(0, 0);
  assert.equal(asked.length, 3, "the second load still runs");
  source.stop();
});
