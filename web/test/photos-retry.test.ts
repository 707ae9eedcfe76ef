import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";

import { needsLogin } from "../src/api.ts";
import { decideRetry } from "../src/photos/retry.ts";
import { Source } from "../src/photos/source.ts";
import { logIn } from "../src/session.ts";

/** Lets the server respond to requests of pictures and of the API, in this order, and to logins. */
function respond(context: TestContext, ...responses: readonly (Response | Error)[]): string[] {
  const asked: string[] = [];
  const waiting = [...responses];
  context.mock.method(globalThis, "fetch", async (target: string) => {
    if (target.endsWith("/session")) return Response.json({ name: "ann", isAdmin: false, hasUsers: true, files: "" });
    asked.push(target.slice(target.lastIndexOf("/")));
    const next = waiting.shift();
    if (!next) throw new Error(`${target} is not expected`);
    if (next instanceof Error) throw next;
    return next;
  });
  return asked;
}

const problem = (status: number, title: string, headers = {}) => Response.json({ title }, { status, headers });

test("a picture that the server can convert is loaded again at once, and given up after some attempts", async (context) => {
  const asked = respond(context, new Response(), new Response(), new Response());
  assert.deepEqual(await decideRetry("/a.jpg", 0, 0), { attempt: 1, pause: 0 });
  assert.deepEqual(await decideRetry("/a.jpg", 1), { attempt: 2, pause: 2000 });
  assert.equal((await decideRetry("/a.jpg", 1, 0)).why, "");
  assert.deepEqual(asked, ["/a.jpg?h=8", "/a.jpg?h=8", "/a.jpg?h=8"]);
});

test("a picture that cannot be decoded has the server's reason", async (context) => {
  respond(context, problem(422, "the picture cannot be decoded"));
  assert.equal((await decideRetry("/a.jpg", 0)).why, "the picture cannot be decoded");
});

test("attempts while the server is busy do not count, and a lost connection is retried", async (context) => {
  respond(context, problem(503, "busy", { "retry-after": "7" }), new TypeError("failed to fetch"), new TypeError("failed to fetch"));
  assert.deepEqual(await decideRetry("/a.jpg", 3), { attempt: 3, pause: 7000 });
  assert.deepEqual(await decideRetry("/a.jpg", 3), { attempt: 4, pause: 8000 });
  assert.equal((await decideRetry("/a.jpg", 9)).why, "");
});

test("all pictures that need a login wait for the one that the page asks for", async (context) => {
  respond(context, problem(401, "log in"), problem(401, "log in"));
  const ends: string[] = [];
  const decisions = ["/a.jpg", "/b.jpg"].map(async (file, index) => {
    const decision = await decideRetry(file, index);
    ends.push(file);
    return decision;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(needsLogin.value);
  assert.deepEqual(ends, []);
  await logIn("ann", "secret");
  assert.deepEqual(await Promise.all(decisions), [{ attempt: 0, pause: 0 }, { attempt: 1, pause: 0 }]);
  assert.ok(!needsLogin.value);
});

test("a section that needs a login is requested once, and again after the login", async (context) => {
  const months = Response.json({ generation: "1", total: 1, months: [["2024-07", 1]] });
  const rows = Response.json({ id: ["ph-1"], file: ["/a.jpg"], ratio: [1500], placeholder: [null], colour: [null], day: [31] });
  const asked = respond(context, months, problem(401, "log in"), rows);
  const source = new Source({});
  await source.loadMonths();
  const loaded = source.loadSection(0);
  source.want(0, 0);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(asked.length, 2);
  await logIn("ann", "secret");
  assert.equal((await loaded)?.id[0], "ph-1");
  assert.equal(source.picture(0)?.date, "2024-07-31");
});
