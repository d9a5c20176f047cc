package main

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// fanInActors is the number of actors that send to one actor in fanIn.
const fanInActors = 1000

// tells measures the rate of one-way messages, in millions per second.
func (b *bench) tells(peer *actor.PID, m any) (float64, error) {
	return b.tellMany(peer, m, b.times(300_000))
}

// tellMany measures the rate of n one-way messages, in millions per second.
func (b *bench) tellMany(peer *actor.PID, m any, n int) (float64, error) {
	start := time.Now()
	for range n {
		b.s.Root.Send(peer, m)
	}
	err := b.counted(peer, n)
	return float64(n) / time.Since(start).Seconds() / 1e6, err
}

// counted waits until the counting actor peer has received n messages since its last answer.
func (b *bench) counted(peer *actor.PID, n int) error {
	_, err := b.s.Root.RequestFuture(peer, &count{int64(n)}, patience).Result()
	return err
}

// message returns a Message in arena memory. Its length is given in bytes.
func (b *bench) message(bytes int) (*runtime.Message, error) {
	buf, err := runtime.Alloc[byte](b.w, bytes)
	if err != nil {
		return nil, err
	}
	return runtime.NewMessage(buf)
}

// handovers measures the throughput, in MB/s, of messages of 64 KiB whose memory is handed over if the transport
// supports this.
func (b *bench) handovers(peer *actor.PID) (float64, error) {
	n := b.times(10_000)
	start := time.Now()
	for range n {
		m, err := b.message(large)
		if err != nil {
			return 0, err
		}
		b.s.Root.Send(peer, m)
	}
	err := b.counted(peer, n)
	return float64(n) * large / time.Since(start).Seconds() / 1e6, err
}

// copies measures the throughput, in MB/s, of messages of 64 KiB that are copied.
func (b *bench) copies(peer *actor.PID) (float64, error) {
	n := b.times(2000)
	var m any = make([]byte, large)
	start := time.Now()
	for range n {
		b.s.Root.Send(peer, m)
	}
	err := b.counted(peer, n)
	return float64(n) * large / time.Since(start).Seconds() / 1e6, err
}

// fanIn measures the rate at which one actor receives the messages of many actors of rank 1, in
// millions per second.
func (b *bench) fanIn() (float64, error) {
	each := b.times(100)
	founder := b.s.PID(1, "founder")
	if _, err := b.s.Root.RequestFuture(founder, &crowd{Each: int64(each)}, patience).Result(); err != nil {
		return 0, err
	}
	peer := b.s.PID(0, "count-worker")
	start := time.Now()
	b.s.Root.Send(founder, peer)
	err := b.counted(peer, each*fanInActors)
	return float64(each*fanInActors) / time.Since(start).Seconds() / 1e6, err
}

const (
	tagData = 1
	window  = 64
)

// order tells rank 1 how many windows of messages to receive, and the size of a message in bytes. The constant
// window is the number of messages in a window. An order with 0 windows ends the function serve.
type order struct{ Windows, Bytes int64 }

// isends measures the rate of messages that are sent by Isend without actors, in millions per second. The
// rate is for comparison with the rates of actors.
func (b *bench) isends(windows, bytes int) (float64, error) {
	b.s.Root.Send(b.s.PID(1, conductor), &order{int64(windows), int64(bytes)})
	c := b.w.Comm()
	buf := make([]byte, bytes)
	reqs := make([]runtime.Request, window)
	start := time.Now()
	for range windows {
		if _, err := runtime.Recv(c, buf[:1], 1, tagData); err != nil {
			return 0, fmt.Errorf("isends: %w", err)
		}
		for i := range reqs {
			reqs[i] = runtime.Isend(c, buf, 1, tagData)
		}
		if err := runtime.WaitAll(reqs); err != nil {
			return 0, fmt.Errorf("isends: %w", err)
		}
	}
	return float64(windows*window) / time.Since(start).Seconds() / 1e6, nil
}
