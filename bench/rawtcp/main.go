// Command rawtcp measures a bare TCP connection over loopback between two ranks, without messages, matching,
// Go's netpoller and sleeps. Its result is the limit for transport/rdma over TCP.
//
//	gorun -np 2 -bind-to core ./bench/rawtcp -m 8,8K             ping-pong
//	gorun -np 2 -bind-to core ./bench/rawtcp -stream -m 64K,1M   windows of 64, one way
//
// Both ends poll their sockets without blocking, with TCP_NODELAY. The system calls bypass Go's scheduler.
// The ranks use the runtime only to exchange the port, outside the timed part. With -stream, an iteration is
// a window. The default number of windows is a hundredth of the number of iterations of the ping-pong.
package main

import (
	"errors"
	"flag"
	"time"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/runtime"
)

// tagPort is the tag of the message that contains the port.
const tagPort = 1

var stream = flag.Bool("stream", false, "measure the bandwidth of one direction, not the latency of a ping-pong")

func main() {
	osu.Define("rawtcp").WithSizes("1:4M").WithCounts(osu.Latency).Main(1, run)
}

// run runs the benchmark in one rank.
func run(w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	if c.Size() != 2 {
		return errors.New("a connection has two ranks")
	}
	column, measure := "Latency (us)", pingPong
	if *stream {
		column, measure = "Bandwidth (MB/s)", windows
	}
	s, err := connect(c)
	if err != nil {
		return err
	}
	defer s.close()
	table, err := osu.NewTable(w, o, column)
	if err != nil {
		return err
	}
	memory := make([]byte, o.Largest())
	return table.Rows(func(size int) ([]float64, error) {
		if size == 0 {
			return nil, errors.New("-m: TCP has no messages of 0 bytes")
		}
		timed, warmup := o.Loops(size)
		if *stream && o.Iterations == 0 {
			timed, warmup = timed/100, max(1, warmup/100)
		}
		value, err := measure(s, c.Rank() == 0, memory[:size], timed, warmup)
		return []float64{value}, err
	})
}

// connect returns the socket of a connection between the two ranks.
func connect(c *runtime.Comm) (socket, error) {
	var port [1]int64
	if c.Rank() == 0 {
		if _, err := runtime.Recv(c, port[:], 1, tagPort); err != nil {
			return socket{}, err
		}
		return dial(int(port[0]))
	}
	l, err := listen()
	if err != nil {
		return socket{}, err
	}
	defer l.close()
	at, err := l.port()
	if err != nil {
		return socket{}, err
	}
	port[0] = int64(at)
	if err := runtime.Send(c, port[:], 0, tagPort); err != nil {
		return socket{}, err
	}
	return l.accept()
}

// pingPong sends a message back and forth and returns the time of one way in microseconds.
func pingPong(s socket, first bool, message []byte, timed, warmup int) (float64, error) {
	var start time.Time
	for i := range warmup + timed {
		if i == warmup {
			start = time.Now()
		}
		if first {
			if err := s.send(message); err != nil {
				return 0, err
			}
		}
		if err := s.receive(message); err != nil {
			return 0, err
		}
		if !first {
			if err := s.send(message); err != nil {
				return 0, err
			}
		}
	}
	return osu.Micros(time.Since(start)) / float64(2*timed), nil
}

// windows sends windows of messages in one direction. The receiver acknowledges each window with a
// byte. windows returns the bandwidth in MB/s.
func windows(s socket, first bool, message []byte, timed, warmup int) (float64, error) {
	var start time.Time
	var ack [1]byte
	there, back := s.receive, s.send
	if first {
		there, back = s.send, s.receive
	}
	for i := range warmup + timed {
		if i == warmup {
			start = time.Now()
		}
		for range osu.Window {
			if err := there(message); err != nil {
				return 0, err
			}
		}
		if err := back(ack[:]); err != nil {
			return 0, err
		}
	}
	return osu.MBps(len(message), timed, time.Since(start)), nil
}
