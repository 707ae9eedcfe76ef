// A queue with BullMQ and a rate limiter, whose work is done by scripts in the store, over the port
// that is the first argument.
import assert from "node:assert/strict";
import { FlowProducer, Queue, QueueEvents, Worker } from "bullmq";
import { Redis } from "ioredis";
import { RateLimiterRedis } from "rate-limiter-flexible";

const port = Number(process.argv[2]);
const connection = { port, maxRetriesPerRequest: null };

async function bullmq() {
  const queue = new Queue("work", { connection });
  const events = new QueueEvents("work", { connection });
  await events.waitUntilReady();
  const worker = new Worker(
    "work",
    async (job) => {
      if (job.data.fails > job.attemptsMade) throw new Error("not yet");
      return job.data.number * 2;
    },
    { connection, concurrency: 4 },
  );
  const add = (number, options) => queue.add("double", { number, fails: 0 }, options);
  const plain = await add(1, {});
  const urgent = await add(2, { priority: 1 });
  const delayed = await add(3, { delay: 200 });
  const retried = await queue.add("double", { number: 4, fails: 1 }, { attempts: 3, backoff: 50 });
  const jobs = [plain, urgent, delayed, retried];
  const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events, 20_000)));
  assert.deepEqual(results, [2, 4, 6, 8]);
  const failing = await queue.add("double", { number: 5, fails: 9 }, { attempts: 1 });
  await assert.rejects(failing.waitUntilFinished(events, 20_000), /not yet/);
  assert.deepEqual(await queue.getJobCounts("completed", "failed", "wait", "active"), {
    completed: 4, failed: 1, wait: 0, active: 0,
  });
  const flow = new FlowProducer({ connection });
  const data = { number: 7, fails: 0 };
  const children = [{ name: "child", queueName: "work", data }];
  const tree = await flow.add({ name: "parent", queueName: "work", data, children });
  assert.equal(await tree.job.waitUntilFinished(events, 20_000), 14);
  assert.deepEqual(Object.values(await tree.job.getChildrenValues()), [14]);
  await worker.close();
  await queue.obliterate({ force: true });
  for (const each of [flow, events, queue]) await each.close();
}

async function rateLimiter() {
  const client = new Redis({ port });
  const limiter = new RateLimiterRedis({ storeClient: client, points: 2, duration: 60 });
  assert.equal((await limiter.consume("visitor")).remainingPoints, 1);
  assert.equal((await limiter.consume("visitor")).remainingPoints, 0);
  await assert.rejects(limiter.consume("visitor"), (refused) => refused.consumedPoints === 3);
  client.disconnect();
}

await bullmq();
console.log("bullmq: ok");
await rateLimiter();
console.log("rate-limiter-flexible: ok");
process.exit(0);
