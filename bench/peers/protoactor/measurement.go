package main

import (
	"fmt"
	goruntime "runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	small = 64
	large = 64 << 10

	// fanInActors is the number of actors that send to a single actor.
	fanInActors = 1000

	// patience is the timeout of an answer.
	patience = 30 * time.Second
)

// measurement is one line of the table.
type measurement struct {
	name, unit string
	run        func(*bench) (float64, error)
}

// bench is the setup of a measurement. s is the actor system of this process. address is the address of the
// measured actor system. scale is the factor for the numbers of messages and actors.
type bench struct {
	s       *actor.ActorSystem
	address string
	scale   float64
}

// betweenProcesses contains the measurements with actors of the peer.
var betweenProcesses = []measurement{
	{"Tell 64 B one way", "us", (*bench).oneWay},
	{"request/reply 64 B", "us", func(b *bench) (float64, error) { return b.requests(bytes(small), 2000) }},
	{"RequestFuture 64 B", "us", func(b *bench) (float64, error) { return b.futures(b.pid("echo"), bytes(small), 2000) }},
	{"RequestFuture beyond local", "us", (*bench).beyondLocal},
	{"Tell 64 B", "M/s", func(b *bench) (float64, error) { return b.tells(bytes(small), 100_000) }},
	{"Tell 64 KiB", "MB/s", func(b *bench) (float64, error) {
		rate, err := b.tells(bytes(large), 2000)
		return rate * large, err
	}},
	{"fan-in of 1000 actors", "M/s", (*bench).fanIn},
	{"memory per remote PID", "B", (*bench).memoryOfPID},
}

// withinProcess contains the measurements with actors of this process.
var withinProcess = []measurement{
	{"local Tell", "M/s", func(b *bench) (float64, error) { return b.tells(&record{}, 1_000_000) }},
	{"local request/reply", "us", func(b *bench) (float64, error) { return b.requests(&record{}, 20000) }},
	{"local RequestFuture", "us", func(b *bench) (float64, error) { return b.futures(b.pid("echo"), &record{}, 5000) }},
	{"memory per actor", "B", (*bench).memoryOfActor},
}

// bytes returns a message with n bytes.
func bytes(n int) *wrapperspb.BytesValue { return wrapperspb.Bytes(make([]byte, n)) }

// times scales a number of messages or actors.
func (b *bench) times(n int) int { return max(1, int(float64(n)*b.scale)) }

// pid returns the PID of an actor of the measured actor system.
func (b *bench) pid(name string) *actor.PID { return actor.NewPID(b.address, name) }

// oneWay measures half of the round-trip time between an actor of this process and an actor of the peer, in
// microseconds.
func (b *bench) oneWay() (float64, error) {
	peer, m := b.pid("return"), bytes(small)
	both, err := b.pingPong(2000, func(c actor.Context) { c.Send(peer, c.Self()) }, func(c actor.Context) { c.Send(peer, m) })
	return both / 2, err
}

// requests measures an actor that sends a request and, at each answer, the next request.
func (b *bench) requests(m any, n int) (float64, error) {
	peer := b.pid("echo")
	return b.pingPong(n, func(actor.Context) {}, func(c actor.Context) { c.Request(peer, m) })
}

// pingPong measures an actor that calls send at the start and at each message that it receives. It
// returns the time per message in microseconds.
func (b *bench) pingPong(n int, begin, send func(actor.Context)) (float64, error) {
	n = b.times(n)
	left, start := n, time.Time{}
	done := make(chan time.Duration, 1)
	pid := b.s.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			begin(c)
			start = time.Now()
			send(c)
		case *wrapperspb.BytesValue, *record:
			if left--; left == 0 {
				done <- time.Since(start)
				return
			}
			send(c)
		}
	}))
	took := <-done
	return micros(took, n), b.s.Root.StopFuture(pid).Wait()
}

// futures measures RequestFuture, in microseconds per call.
func (b *bench) futures(peer *actor.PID, m any, n int) (float64, error) {
	n = b.times(n)
	start := time.Now()
	for range n {
		if _, err := b.s.Root.RequestFuture(peer, m, patience).Result(); err != nil {
			return 0, err
		}
	}
	return micros(time.Since(start), n), nil
}

// beyondLocal measures how many microseconds longer RequestFuture takes with an actor of the peer than with
// the same kind of actor of this process.
func (b *bench) beyondLocal() (float64, error) {
	here, err := b.futures(b.s.NewLocalPID("echo"), bytes(small), 2000)
	if err != nil {
		return 0, err
	}
	there, err := b.futures(b.pid("echo"), bytes(small), 2000)
	return there - here, err
}

// tells measures the rate of one-way messages, in millions per second.
func (b *bench) tells(m any, n int) (float64, error) {
	n = b.times(n)
	peer := b.pid("count")
	start := time.Now()
	for range n {
		b.s.Root.Send(peer, m)
	}
	err := b.counted(peer, n)
	return float64(n) / time.Since(start).Seconds() / 1e6, err
}

// counted waits until the counting actor peer has received n messages.
func (b *bench) counted(peer *actor.PID, n int) error {
	v, err := b.s.Root.RequestFuture(peer, wrapperspb.Int64(int64(n)), patience).Result()
	if err != nil {
		return err
	}
	if got, ok := v.(*wrapperspb.Int64Value); !ok || got.Value != int64(n) {
		return fmt.Errorf("%v of %d messages arrived", v, n)
	}
	return nil
}

// fanIn measures the rate of messages from fanInActors actors of the peer to a single actor of this
// process, in millions per second.
func (b *bench) fanIn() (float64, error) {
	each, founder := b.times(100), b.pid("founder")
	if _, err := b.s.Root.RequestFuture(founder, wrapperspb.UInt64(uint64(each)), patience).Result(); err != nil {
		return 0, err
	}
	peer := b.s.NewLocalPID("count")
	start := time.Now()
	b.s.Root.Send(founder, peer)
	err := b.counted(peer, each*fanInActors)
	return float64(each*fanInActors) / time.Since(start).Seconds() / 1e6, err
}

// memoryOfPID measures the number of bytes that this process stores per actor of the peer to which
// it has sent a message.
func (b *bench) memoryOfPID() (float64, error) {
	n := b.times(4000)
	v, err := b.s.Root.RequestFuture(b.pid("founder"), wrapperspb.Int32(int32(n)), patience).Result()
	if err != nil {
		return 0, err
	}
	last, ok := v.(*wrapperspb.Int64Value)
	if !ok {
		return 0, fmt.Errorf("%T is not a number of actors", v)
	}
	pids := make([]*actor.PID, n)
	before := heapInUse()
	for i := range pids {
		pids[i] = b.pid(idleName(last.Value - int64(i) - 1))
		b.s.Root.Send(pids[i], wrapperspb.Bool(true))
	}
	if _, err := b.s.Root.RequestFuture(b.pid("echo"), bytes(small), patience).Result(); err != nil {
		return 0, err
	}
	after := heapInUse()
	goruntime.KeepAlive(pids)
	return float64(after-before) / float64(n), nil
}

// memoryOfActor measures the number of bytes of an idle actor.
func (b *bench) memoryOfActor() (float64, error) {
	n := b.times(10_000)
	pids := make([]*actor.PID, n)
	before := heapInUse()
	for i := range pids {
		pids[i] = b.s.Root.Spawn(actor.PropsFromFunc(func(actor.Context) {}))
	}
	grown := heapInUse() - before
	for _, pid := range pids {
		if err := b.s.Root.StopFuture(pid).Wait(); err != nil {
			return 0, err
		}
	}
	return float64(grown) / float64(n), nil
}

// micros returns the time per item in microseconds, if n items took d.
func micros(d time.Duration, n int) float64 { return d.Seconds() * 1e6 / float64(n) }
