"""Locks, rate limits and task queues that run scripts in the store, over the port that is the first
argument."""

import sys

import limits
import redis
from celery import Celery, chord, group
from celery.contrib.testing.worker import start_worker
from limits.storage import RedisStorage
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter, SlidingWindowCounterRateLimiter
from redis.exceptions import LockNotOwnedError
from rq import Queue, SimpleWorker

port = int(sys.argv[1])
url = f"redis://127.0.0.1:{port}/0"


def locks():
    client = redis.Redis(port=port)
    lock, other = client.lock("lock", timeout=10), client.lock("lock", timeout=10)
    assert lock.acquire(blocking=False)
    assert not other.acquire(blocking=False)
    assert lock.extend(5) and lock.reacquire()
    client.set("lock", "stolen")
    try:
        lock.release()
        raise AssertionError("a lock of somebody else was released")
    except LockNotOwnedError:
        client.delete("lock")
    with client.lock("lock", timeout=10):
        assert client.exists("lock") == 1
    assert client.exists("lock") == 0


def rates():
    storage = RedisStorage(url)
    twice = limits.parse("2/minute")
    for strategy in (FixedWindowRateLimiter, MovingWindowRateLimiter, SlidingWindowCounterRateLimiter):
        limiter = strategy(storage)
        hits = [limiter.hit(twice, strategy.__name__, "visitor") for _ in range(3)]
        assert hits == [True, True, False], (strategy, hits)


def celery():
    app = Celery("tasks", broker=url, backend=url)
    app.conf.worker_redirect_stdouts = False
    app.conf.worker_hijack_root_logger = False

    @app.task(name="add")
    def add(a, b):
        return a + b

    @app.task(name="total")
    def total(numbers):
        return sum(numbers)

    with start_worker(app, pool="solo", perform_ping_check=False):
        assert add.delay(1, 2).get(timeout=30) == 3
        assert group(add.s(n, n) for n in range(5))().get(timeout=30) == [0, 2, 4, 6, 8]
        assert chord((add.s(n, 1) for n in range(3)), total.s())().get(timeout=30) == 6
        assert add.apply_async((3, 4), countdown=1).get(timeout=30) == 7


def rq():
    client = redis.Redis(port=port)
    queue = Queue("rq", connection=client)
    jobs = [queue.enqueue(pow, 2, n) for n in range(5)]
    SimpleWorker([queue], connection=client).work(burst=True, logging_level="ERROR")
    assert [job.return_value() for job in jobs] == [1, 2, 4, 8, 16]


for name, journey in (("redis-py's locks", locks), ("limits", rates), ("rq", rq), ("celery", celery)):
    journey()
    print(f"{name}: ok", flush=True)
