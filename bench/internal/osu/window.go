package osu

import (
	"time"

	"github.com/gorun-hpc/gorun/runtime"
)

// Window is the number of messages in flight at a time (-W of OSU).
const Window = 64

// Stream sends windows of messages to a peer, or receives them. The receiver acknowledges each
// window. If a rank both sends and receives, the test is bidirectional.
type Stream[T Element] struct {
	Comm    *runtime.Comm
	Peer    int
	Windows int // number of timed windows of the last Run

	send, recv []T // memory of the messages of a window
	requests   []runtime.Request
	ack        [1]byte
}

// Run runs the test with messages of size bytes, and returns the time of the timed windows. It sends all messages from
// the start of the slice send, and receives them into the start of the slice recv. If send or recv is nil, this rank
// sends or receives nothing. o sets the numbers of windows.
func (s *Stream[T]) Run(o *Options, size int, send, recv []T) (time.Duration, error) {
	var warmup int
	s.Windows, warmup = o.Loops(size)
	n := Count[T](size)
	s.send, s.recv = send[:min(n, len(send))], recv[:min(n, len(recv))]
	s.requests = make([]runtime.Request, 0, 2*Window)
	if err := Sync(s.Comm, s.Peer); err != nil {
		return 0, err
	}
	var start time.Time
	for i := range warmup + s.Windows {
		if i == warmup {
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
	if s.recv != nil {
		for range Window {
			s.requests = append(s.requests, runtime.Irecv(s.Comm, s.recv, s.Peer, tagData))
		}
	}
	if s.send != nil {
		for range Window {
			s.requests = append(s.requests, runtime.Isend(s.Comm, s.send, s.Peer, tagData))
		}
	}
	if err := runtime.WaitAll(s.requests); err != nil {
		return err
	}
	if s.recv != nil && s.send != nil {
		return nil // no acknowledgement is sent, because each rank receives the window of the other rank
	}
	if s.send != nil {
		_, err := runtime.Recv(s.Comm, s.ack[:], s.Peer, tagAck)
		return err
	}
	return runtime.Send(s.Comm, s.ack[:], s.Peer, tagAck)
}

// MBps returns the bandwidth, in 10^6 bytes per second, of windows of messages of size bytes.
func MBps(size, windows int, took time.Duration) float64 {
	return float64(size) * float64(windows) * Window / 1e6 / took.Seconds()
}
