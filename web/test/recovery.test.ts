import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError, api, needsLogin, reachable, recoveries, watchConnection } from "../src/api.ts";
import { logIn } from "../src/session.ts";

test("failed requests may succeed once the server responds again", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let isUp = false;
  context.mock.method(globalThis, "fetch", async () => {
    if (!isUp) throw new TypeError("connection refused");
    return Response.json({});
  });
  const tick = async (ms: number) => {
    context.mock.timers.tick(ms);
    await new Promise(setImmediate);
  };
  const events = new EventTarget();
  globalThis.addEventListener = events.addEventListener.bind(events) as typeof addEventListener;
  watchConnection();
  const before = recoveries.value;
  await assert.rejects(api("/albums"), (error) => error instanceof ApiError && error.status === 0);
  assert.equal(reachable.value, false);
  await tick(1000);
  assert.equal(recoveries.value, before, "the server does not respond yet");
  isUp = true;
  await tick(2000);
  assert.ok(reachable.value);
  assert.equal(recoveries.value, before + 1);
  await api("/albums");
  assert.equal(recoveries.value, before + 1, "a response that changes nothing");
  isUp = false;
  await assert.rejects(api("/albums"));
  isUp = true;
  events.dispatchEvent(new Event("online"));
  await tick(0);
  assert.equal(recoveries.value, before + 2, "the browser is online again");
});

test("requests that were refused may succeed after a login, but not after a wrong password", async (context) => {
  let status = 401;
  context.mock.method(globalThis, "fetch", async () => Response.json({ title: "a login is needed" }, { status }));
  const before = recoveries.value;
  await assert.rejects(api("/albums"));
  await assert.rejects(logIn("ann", "wrong"));
  assert.deepEqual([needsLogin.value, recoveries.value], [true, before]);
  status = 200;
  await logIn("ann", "right");
  assert.deepEqual([needsLogin.value, recoveries.value], [false, before + 1]);
});
