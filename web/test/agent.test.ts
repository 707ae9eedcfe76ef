import assert from "node:assert/strict";
import { test } from "node:test";

import { agentName } from "../src/account/agent.ts";

test("a User-Agent becomes the names of browser and system", () => {
  for (const [agent, name] of [
    ["Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0", "Firefox · Linux"],
    ["Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0 Mobile Safari/537.36", "Chrome · Android"],
    ["Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0 Safari/537.36 Edg/150.0", "Edge · Windows"],
    ["Mozilla/5.0 (iPhone; CPU iPhone OS 20_0 like Mac OS X) AppleWebKit/605 (KHTML, like Gecko) Version/20.0 Mobile/15E148 Safari/604", "Safari · iOS"],
    ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605 (KHTML, like Gecko) Version/20.0 Safari/605", "Safari · macOS"],
    ["curl/8.17.0", "curl/8.17.0"],
    ["<b>‮x", "<b>‮x"],
    ["", ""],
  ] as const) {
    assert.equal(agentName(agent), name);
  }
});
