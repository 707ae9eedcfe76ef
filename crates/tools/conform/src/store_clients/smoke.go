// The journey with go-redis, over the port that is the first argument.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

func check(is bool, what string, found any) {
	if !is {
		fmt.Fprintf(os.Stderr, "go-redis: %s: %v\n", what, found)
		os.Exit(1)
	}
}

func main() {
	ctx := context.Background()
	for _, protocol := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1], Protocol: protocol})
		check(client.FlushAll(ctx).Err() == nil, "flush", nil)
		check(client.Set(ctx, "k", "v", 100*time.Second).Err() == nil, "set", nil)
		ttl := client.TTL(ctx, "k").Val()
		check(90*time.Second < ttl, "ttl", ttl)
		blob := bytes.Repeat([]byte("x"), 1000000)
		check(client.Set(ctx, "blob", blob, 0).Err() == nil, "set a blob", nil)
		got, err := client.Get(ctx, "blob").Bytes()
		check(err == nil && bytes.Equal(got, blob), "get a blob", err)
		_, err = client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Incr(ctx, "n")
			pipe.HSet(ctx, "h", "f", "1")
			return nil
		})
		check(err == nil, "a transaction", err)
		fields := client.HGetAll(ctx, "h").Val()
		check(fields["f"] == "1", "a hash", fields)
		client.ZAdd(ctx, "z", redis.Z{Score: 2.5, Member: "b"}, redis.Z{Score: 1, Member: "a"})
		members := client.ZRangeWithScores(ctx, "z", 0, -1).Val()
		check(len(members) == 2 && members[1].Score == 2.5, "a sorted set", members)
		err = client.LPush(ctx, "k", "x").Err()
		check(err != nil && err.Error()[:9] == "WRONGTYPE", "a wrong type", err)
		listener := client.Subscribe(ctx, "c")
		_, err = listener.Receive(ctx)
		check(err == nil, "subscribe", err)
		client.Publish(ctx, "c", "hello")
		message, err := listener.ReceiveMessage(ctx)
		check(err == nil && message.Payload == "hello", "a message", err)
		popped := make(chan []string)
		go func() { popped <- client.BLPop(ctx, 5*time.Second, "queue").Val() }()
		client.RPush(ctx, "queue", "job")
		job := <-popped
		check(len(job) == 2 && job[1] == "job", "a blocked pop", job)
		keys, _, err := client.Scan(ctx, 0, "", 100).Result()
		check(err == nil && len(keys) == 5, "scan", keys)
	}
	fmt.Println("go-redis: ok")
}
