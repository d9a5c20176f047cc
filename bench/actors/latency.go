package main

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// patience is the timeout for an answer.
const patience = 30 * time.Second

// oneWay measures the time of a message from an actor to an actor of rank 1, in microseconds. The actors send
// a message back and forth without requests. The result is half of the round-trip time, as in OSU's
// benchmarks.
func (b *bench) oneWay(mode actor.PropsOption, name string) (float64, error) {
	peer := b.s.PID(1, name)
	both, err := b.pingPong(mode, func(c actor.Context) { c.Send(peer, c.Self()) }, func(c actor.Context, m any) { c.Send(peer, m) })
	return both / 2, err
}

// requests measures the time of a request and its answer, in microseconds. An actor sends a request to peer,
// and sends the next request when the answer arrives.
func (b *bench) requests(mode actor.PropsOption, peer *actor.PID) (float64, error) {
	return b.pingPong(mode, func(actor.Context) {}, func(c actor.Context, m any) { c.Request(peer, m) })
}

// pingPong measures an actor that calls the function send at its start and for each record that it receives.
// pingPong returns the time from one call to the next in microseconds. The actor calls the function begin
// once, before the measurement.
func (b *bench) pingPong(mode actor.PropsOption, begin func(actor.Context), send func(c actor.Context, m any)) (float64, error) {
	n := b.times(20000)
	m := &record{}
	left, start := n, time.Time{}
	done := make(chan time.Duration, 1)
	pid, err := b.s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			begin(c)
			start = time.Now()
			send(c, m)
		case *record:
			if left--; left == 0 {
				done <- time.Since(start)
				return
			}
			send(c, m)
		}
	}, mode), "")
	if err != nil {
		return 0, err
	}
	took := <-done
	return micros(took, n), b.s.Root.StopFuture(pid).Wait()
}

// futures measures the time of a RequestFuture and its answer, in microseconds.
func (b *bench) futures(peer *actor.PID) (float64, error) {
	n := b.times(5000)
	took, err := b.ask(peer, n)
	return micros(took, n), err
}

// ask makes n calls of RequestFuture, one after the other, and returns the time of all calls together.
func (b *bench) ask(peer *actor.PID, n int) (time.Duration, error) {
	m := &record{}
	start := time.Now()
	for range n {
		if _, err := b.s.Root.RequestFuture(peer, m, patience).Result(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// beyondLocal measures how many microseconds longer a RequestFuture to an actor of rank 1 takes than a
// RequestFuture to an actor of this rank. It returns the median of many differences, because garbage
// collections disturb both measurements. The actor of this rank runs on a worker, because the message to an
// inline actor would wait for the next poll.
func (b *bench) beyondLocal(peer *actor.PID) (float64, error) {
	const pairs = 21
	n := b.times(500)
	differences := make([]float64, pairs)
	for i := range differences {
		here, err := b.ask(b.s.PID(0, "echo-worker"), n)
		if err != nil {
			return 0, err
		}
		there, err := b.ask(peer, n)
		if err != nil {
			return 0, err
		}
		differences[i] = micros(there-here, n)
	}
	slices.Sort(differences)
	return differences[pairs/2], nil
}

// micros returns the time of one operation in microseconds, if n operations together take d.
func micros(d time.Duration, n int) float64 { return d.Seconds() * 1e6 / float64(n) }
