// The journey with Jedis, over the port that is the first argument.
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.exceptions.JedisDataException;

public class Smoke {
  static void check(boolean is, String what, Object found) {
    if (!is) {
      throw new AssertionError(what + ": " + found);
    }
  }

  static Jedis connect(int port, RedisProtocol protocol) {
    var config = DefaultJedisClientConfig.builder().protocol(protocol).build();
    return new Jedis(new HostAndPort("127.0.0.1", port), config);
  }

  static void journey(int port, RedisProtocol protocol) throws Exception {
    try (var client = connect(port, protocol)) {
      client.flushAll();
      client.setex("k", 100, "v");
      check(90 < client.ttl("k"), "ttl", client.ttl("k"));
      var blob = new byte[1_000_000];
      Arrays.fill(blob, (byte) 'x');
      client.set("blob".getBytes(), blob);
      check(Arrays.equals(blob, client.get("blob".getBytes())), "a blob", null);
      var transaction = client.multi();
      transaction.incr("n");
      transaction.hset("h", "f", "1");
      check(List.of(1L, 1L).equals(transaction.exec()), "a transaction", null);
      check(Map.of("f", "1").equals(client.hgetAll("h")), "a hash", client.hgetAll("h"));
      client.zadd("z", Map.of("a", 1.0, "b", 2.5));
      check(client.zscore("z", "b") == 2.5, "a score", client.zscore("z", "b"));
      try {
        client.lpush("k", "x");
        throw new AssertionError("a wrong type is taken");
      } catch (JedisDataException refused) {
        check(refused.getMessage().startsWith("WRONGTYPE"), "a wrong type", refused);
      }
      var popped = CompletableFuture.supplyAsync(() -> {
        try (var waiting = connect(port, protocol)) {
          return waiting.blpop(5, "queue");
        }
      });
      client.rpush("queue", "job");
      check(List.of("queue", "job").equals(popped.get()), "a blocked pop", popped.get());
      var heard = new CompletableFuture<String>();
      var listening = new CountDownLatch(1);
      var listener = new JedisPubSub() {
        @Override
        public void onSubscribe(String channel, int count) {
          listening.countDown();
        }

        @Override
        public void onMessage(String channel, String message) {
          heard.complete(message);
          unsubscribe();
        }
      };
      var thread = new Thread(() -> {
        try (var subscriber = connect(port, protocol)) {
          subscriber.subscribe(listener, "c");
        }
      });
      thread.start();
      listening.await();
      client.publish("c", "hello");
      check("hello".equals(heard.get()), "a message", heard.get());
      thread.join();
      check(client.scan("0").getResult().size() == 5, "scan", client.keys("*"));
    }
  }

  public static void main(String[] words) throws Exception {
    for (var protocol : RedisProtocol.values()) {
      journey(Integer.parseInt(words[0]), protocol);
    }
    System.out.println("jedis: ok");
  }
}
