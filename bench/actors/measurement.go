package main

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// measurement is one line of the table.
type measurement struct {
	name, unit string
	run        func(w *runtime.World, s *actors.System) (float64, error)
}

var measurements = []measurement{
	{"request/reply inline 64 B", "us", func(w *runtime.World, s *actors.System) (float64, error) {
		return requests(s, s.Inline(), "echo-inline")
	}},
	{"request/reply worker 64 B", "us", func(w *runtime.World, s *actors.System) (float64, error) {
		return requests(s, s.Worker(), "echo-worker")
	}},
	{"RequestFuture inline 64 B", "us", func(_ *runtime.World, s *actors.System) (float64, error) { return futures(s, s.PID(1, "echo-inline")) }},
	{"RequestFuture worker 64 B", "us", func(_ *runtime.World, s *actors.System) (float64, error) { return futures(s, s.PID(1, "echo-worker")) }},
	{"RequestFuture local worker", "us", func(_ *runtime.World, s *actors.System) (float64, error) { return futures(s, s.PID(0, "echo-worker")) }},
	{"Tell 64 B []byte inline", "M/s", func(_ *runtime.World, s *actors.System) (float64, error) {
		return tells(s, s.PID(1, "count-inline"), make([]byte, 64))
	}},
	{"Tell 64 B struct inline", "M/s", func(_ *runtime.World, s *actors.System) (float64, error) {
		return tells(s, s.PID(1, "count-inline"), &record{})
	}},
	{"Tell 64 B struct worker", "M/s", func(_ *runtime.World, s *actors.System) (float64, error) {
		return tells(s, s.PID(1, "count-worker"), &record{})
	}},
	{"Isend 64 B", "M/s", isends},
	{"Tell local worker", "M/s", func(_ *runtime.World, s *actors.System) (float64, error) {
		return tells(s, s.PID(0, "count-worker"), &record{})
	}},
	{"Tell 64 KiB Message worker", "MB/s", memory},
}

// record is a plain message of 64 bytes.
type record [8]int64

func init() { actors.Register[record]() }

// count asks a counter how many messages it got since it was asked last.
type count struct{ Expect int64 }

func init() { actors.Register[count]() }

// host is what every rank has: actors that answer and count, in both modes.
type host struct{ s *actors.System }

// spawn starts them.
func (h *host) spawn() error {
	for name, mode := range map[string]actor.PropsOption{"inline": h.s.Inline(), "worker": h.s.Worker()} {
		echo := actor.PropsFromFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case []byte, *record:
				c.Respond(m)
			}
		}, mode)
		if _, err := h.s.Spawn(echo, "echo-"+name); err != nil {
			return err
		}
		if _, err := h.s.Spawn(actor.PropsFromProducer(func() actor.Actor { return &counter{} }, mode), "count-"+name); err != nil {
			return err
		}
	}
	return nil
}

// counter counts messages, and answers when so many have come as are expected.
type counter struct {
	got    int64
	expect int64
	asker  *actor.PID
}

// Receive implements actor.Actor.
func (n *counter) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case []byte, *record:
		n.got++
	case *runtime.Message:
		n.got++
		m.Release()
	case *count:
		n.expect, n.asker = m.Expect, c.Sender()
	}
	if n.asker != nil && n.got >= n.expect {
		c.Send(n.asker, &count{n.got})
		n.got, n.asker = 0, nil
	}
}

// requests measures an actor that asks an actor of rank 1, again with each answer.
func requests(s *actors.System, mode actor.PropsOption, name string) (float64, error) {
	n := int(20000 * *scale)
	var took time.Duration
	done := make(chan struct{})
	peer := s.PID(1, name)
	m := &record{}
	left, start := n, time.Time{}
	pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			start = time.Now()
			c.Request(peer, m)
		case *record:
			if left--; left == 0 {
				took = time.Since(start)
				close(done)
				return
			}
			c.Request(peer, m)
		}
	}, mode), "")
	if err != nil {
		return 0, err
	}
	<-done
	s.Root.Stop(pid)
	return took.Seconds() * 1e6 / float64(n), nil
}

// futures measures RequestFuture.
func futures(s *actors.System, peer *actor.PID) (float64, error) {
	n := int(5000 * *scale)
	m := &record{}
	start := time.Now()
	for range n {
		if _, err := s.Root.RequestFuture(peer, m, 10*time.Second).Result(); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds() * 1e6 / float64(n), nil
}

// tells measures the rate of one-way messages.
func tells(s *actors.System, peer *actor.PID, m any) (float64, error) {
	n := int(300000 * *scale)
	start := time.Now()
	for range n {
		s.Root.Send(peer, m)
	}
	_, err := s.Root.RequestFuture(peer, &count{int64(n)}, 30*time.Second).Result()
	return float64(n) / time.Since(start).Seconds() / 1e6, err
}

// memory measures messages of 64 KiB whose memory is given away.
func memory(w *runtime.World, s *actors.System) (float64, error) {
	n := int(20000 * *scale)
	peer := s.PID(1, "count-worker")
	start := time.Now()
	for range n {
		b, err := runtime.Alloc[byte](w, 64<<10)
		if err != nil {
			return 0, err
		}
		m, err := runtime.NewMessage(b)
		if err != nil {
			return 0, err
		}
		s.Root.Send(peer, m)
	}
	_, err := s.Root.RequestFuture(peer, &count{int64(n)}, 30*time.Second).Result()
	return float64(n) * (64 << 10) / time.Since(start).Seconds() / 1e6, err
}

const (
	tagData = 1
	window  = 64
)

// isends measures the rate of messages without actors, for comparison.
func isends(w *runtime.World, s *actors.System) (float64, error) {
	n := int(3000 * *scale)
	s.Root.Send(s.PID(1, conductor), int64(n))
	c := w.Comm()
	buf := make([]byte, 64)
	reqs := make([]runtime.Request, window)
	start := time.Now()
	for range n {
		if _, err := runtime.Recv(c, buf[:1], 1, tagData); err != nil {
			return 0, err
		}
		for i := range reqs {
			reqs[i] = runtime.Isend(c, buf, 1, tagData)
		}
		if err := runtime.WaitAll(reqs...); err != nil {
			return 0, err
		}
	}
	return float64(n*window) / time.Since(start).Seconds() / 1e6, nil
}

// conductor is an actor that tells the main goroutine of its rank how many windows
// isends sends: so that it is not in a receive while actors are measured, where it
// and the actors would hand the polling to each other.
const conductor = "conductor"

// serve is the part of the other ranks: rank 1 receives what isends sends, until
// dismissed.
func serve(w *runtime.World, s *actors.System) error {
	if w.Rank() != 1 {
		return nil
	}
	begin := make(chan int64)
	if _, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if n, ok := c.Message().(int64); ok {
			begin <- n
		}
	}), conductor); err != nil {
		return err
	}
	c := w.Comm()
	bufs := make([][64]byte, window)
	reqs := make([]runtime.Request, window)
	for n := range begin {
		if n == 0 {
			break
		}
		for range n {
			for i := range reqs {
				reqs[i] = runtime.Irecv(c, bufs[i][:], 0, tagData)
			}
			if err := runtime.Send(c, []byte{1}, 0, tagData); err != nil {
				return err
			}
			if err := runtime.WaitAll(reqs...); err != nil {
				return err
			}
		}
	}
	return nil
}

// dismiss ends serve.
func dismiss(s *actors.System) { s.Root.Send(s.PID(1, conductor), int64(0)) }

// median returns the middle of some values.
func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
