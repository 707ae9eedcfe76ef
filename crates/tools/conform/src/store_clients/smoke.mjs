// The same journey with ioredis and with node-redis, over the port that is the first argument.
import assert from "node:assert/strict";
import { Redis } from "ioredis";
import { createClient } from "redis";

const port = Number(process.argv[2]);
const blob = Buffer.alloc(1_000_000, "x");

async function ioredis() {
  const client = new Redis({ port });
  await client.flushall();
  assert.equal(await client.set("k", "v", "EX", 100), "OK");
  assert.ok((await client.ttl("k")) > 90);
  await client.set("blob", blob);
  assert.ok((await client.getBuffer("blob")).equals(blob));
  const replies = await client.pipeline().incr("n").incr("n").lpush("l", "a", "b").exec();
  assert.deepEqual(replies, [[null, 1], [null, 2], [null, 2]]);
  assert.deepEqual(await client.multi().hset("h", "f", "1").hgetall("h").exec(), [[null, 1], [null, { f: "1" }]]);
  await client.zadd("z", 1, "a", 2.5, "b");
  assert.deepEqual(await client.zrange("z", 0, -1, "WITHSCORES"), ["a", "1", "b", "2.5"]);
  await assert.rejects(client.lpush("k", "x"), /WRONGTYPE/);
  const listener = client.duplicate();
  const heard = new Promise((resolve) => listener.on("message", (_, message) => resolve(message)));
  await listener.subscribe("c");
  await client.publish("c", "hello");
  assert.equal(await heard, "hello");
  const waiting = client.duplicate();
  const popped = waiting.blpop("queue", 5);
  await client.rpush("queue", "job");
  assert.deepEqual(await popped, ["queue", "job"]);
  const keys = [];
  for await (const some of client.scanStream()) keys.push(...some);
  assert.deepEqual(keys.sort(), ["blob", "h", "k", "l", "n", "z"]);
  for (const each of [client, listener, waiting]) each.disconnect();
}

async function nodeRedis(RESP) {
  const client = await createClient({ RESP, socket: { port } }).connect();
  await client.flushAll();
  assert.equal(await client.set("k", "v", { EX: 100 }), "OK");
  await client.set("blob", blob);
  assert.equal((await client.get("blob")).length, blob.length);
  assert.deepEqual(await client.multi().incr("n").incr("n").exec(), [1, 2]);
  await client.hSet("h", { f: "1", g: "2" });
  assert.deepEqual({ ...(await client.hGetAll("h")) }, { f: "1", g: "2" });
  await client.zAdd("z", [{ score: 2.5, value: "b" }, { score: 1, value: "a" }]);
  assert.deepEqual(await client.zRangeWithScores("z", 0, -1), [{ value: "a", score: 1 }, { value: "b", score: 2.5 }]);
  await assert.rejects(client.lPush("k", "x"), /WRONGTYPE/);
  const listener = await client.duplicate().connect();
  const heard = new Promise((resolve) => listener.subscribe("c", resolve).then(() => client.publish("c", "hello")));
  assert.equal(await heard, "hello");
  const waiting = await client.duplicate().connect();
  const popped = waiting.blPop("queue", 5);
  await client.rPush("queue", "job");
  assert.equal((await popped).element, "job");
  for (const each of [client, listener, waiting]) each.destroy();
}

await ioredis();
console.log("ioredis: ok");
for (const RESP of [2, 3]) await nodeRedis(RESP);
console.log("node-redis: ok");
