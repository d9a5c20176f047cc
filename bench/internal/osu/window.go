package osu

import (
	"time"

	"github.com/gorun-hpc/gorun/runtime"
)

// Window is the number of messages in flight at a time (-W of OSU).
const Window = 64

// Stream sends windows of messages to a peer, or receives them. The receiver acknowledges each
// window. If both Send and Recv are set, the test is bidirectional.
type Stream[T Element] struct {
	Comm     *runtime.Comm
	Peer     int
	Send     []T // memory of the messages; if it is nil, this rank sends nothing
	Recv     []T // memory into which every message is received; if it is nil, this rank receives nothing
	Windows  int // number of timed windows
	Warmup   int // number of untimed windows before the timed ones
	requests []runtime.Request
	ack      [1]byte
}

// RunSize runs the test with messages of size bytes. It sends them from the start of the slice send, and
// receives them into the start of the slice recv. o sets the numbers of windows. Either send or recv may be
// nil.
func (s *Stream[T]) RunSize(o *Options, size int, send, recv []T) (time.Duration, error) {
	s.Windows, s.Warmup = o.Loops(size)
	n := Count[T](size)
	s.Send, s.Recv = send[:min(n, len(send))], recv[:min(n, len(recv))]
	return s.Run()
}

// Run runs the test and returns the time of the timed windows.
func (s *Stream[T]) Run() (time.Duration, error) {
	s.requests = make([]runtime.Request, 0, 2*Window)
	if err := Sync(s.Comm, s.Peer); err != nil {
		return 0, err
	}
	var start time.Time
	for i := range s.Warmup + s.Windows {
		if i == s.Warmup {
			start = time.Now()
		}
		if err := s.window(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// window sends or receives one window and its acknowledgement. In a bidirectional test, it sends and receives
// a window without acknowledgements.
func (s *Stream[T]) window() error {
	s.requests = s.requests[:0]
	if s.Recv != nil {
		for range Window {
			s.requests = append(s.requests, runtime.Irecv(s.Comm, s.Recv, s.Peer, tagData))
		}
	}
	if s.Send != nil {
		for range Window {
			s.requests = append(s.requests, runtime.Isend(s.Comm, s.Send, s.Peer, tagData))
		}
	}
	if err := runtime.WaitAll(s.requests); err != nil {
		return err
	}
	if s.Recv != nil && s.Send != nil {
		return nil // no acknowledgement is sent, because each rank receives the window of the other rank
	}
	if s.Send != nil {
		_, err := runtime.Recv(s.Comm, s.ack[:], s.Peer, tagAck)
		return err
	}
	return runtime.Send(s.Comm, s.ack[:], s.Peer, tagAck)
}

// MBps returns the bandwidth, in 10^6 bytes per second, of windows of messages of size bytes.
func MBps(size, windows int, took time.Duration) float64 {
	return float64(size) * float64(windows) * Window / 1e6 / took.Seconds()
}
