// Command netrpc measures net/rpc of the standard library between two processes over loopback TCP. Its values
// are a sanity check beside bench/actors and protoactor's remote. The command starts a second process of
// itself as the peer. Because net/rpc has no one-way messages, netrpc measures the rate of calls with empty
// answers instead. The constant window is the number of calls that are in flight at a time.
//
//	go -C bench/peers run ./netrpc
package main

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"time"
)

var (
	serve = flag.Bool("serve", false, "be the peer")
	scale = flag.Float64("scale", 1, "`factor` for the numbers of calls")
)

// window is the number of calls in flight.
const window = 64

// Service contains the functions that the peer offers.
type Service struct{}

// Echo returns its argument.
func (Service) Echo(in []byte, out *[]byte) error {
	*out = in
	return nil
}

// Take returns nothing.
func (Service) Take(_ []byte, _ *struct{}) error { return nil }

func main() {
	flag.Parse()
	run := measure
	if *serve {
		run = peer
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// peer prints its address and serves one connection.
func peer() error {
	if err := rpc.Register(Service{}); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	c, err := l.Accept()
	if err != nil {
		return err
	}
	rpc.ServeConn(c)
	return nil
}

// measure starts the peer, and measures and prints calls to it.
func measure() error {
	cmd := exec.Command(os.Args[0], "-serve")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = cmd.Wait() }()
	address, _, err := bufio.NewReader(out).ReadLine()
	if err != nil {
		return err
	}
	c, err := rpc.Dial("tcp", string(address))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for _, m := range []struct {
		name, unit string
		run        func(scale float64) (float64, error)
	}{
		{"request/reply 64 B", "us", func(scale float64) (float64, error) { return calls(c, 64, 5000*scale) }},
		{"Tell 64 B", "M/s", func(scale float64) (float64, error) { return rate(c, 64, 500*scale) }},
		{"Tell 64 KiB", "MB/s", func(scale float64) (float64, error) {
			v, err := rate(c, 64<<10, 40*scale)
			return v * (64 << 10), err
		}},
	} {
		if err := line(m.name, m.unit, m.run); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// line runs a tenth of a measurement as a warm-up. Then it runs the whole measurement and prints the result
// as a line.
func line(name, unit string, run func(scale float64) (float64, error)) error {
	if _, err := run(*scale / 10); err != nil {
		return err
	}
	v, err := run(*scale)
	if err == nil {
		fmt.Printf("%-36s %14.3f %s\n", name, v, unit)
	}
	return err
}

// calls measures the duration of a call, in microseconds, with an argument and an answer of the
// given length.
func calls(c *rpc.Client, bytes int, times float64) (float64, error) {
	n := max(1, int(times))
	in, out := make([]byte, bytes), make([]byte, 0, bytes)
	start := time.Now()
	for range n {
		if err := c.Call("Service.Echo", in, &out); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds() * 1e6 / float64(n), nil
}

// rate measures the rate of calls if many of them are in flight, in millions per second.
func rate(c *rpc.Client, bytes int, windows float64) (float64, error) {
	n := max(1, int(windows))
	in, out := make([]byte, bytes), &struct{}{}
	done := make(chan *rpc.Call, window)
	start := time.Now()
	for range n {
		for range window {
			c.Go("Service.Take", in, out, done)
		}
		for range window {
			if call := <-done; call.Error != nil {
				return 0, call.Error
			}
		}
	}
	return float64(n*window) / time.Since(start).Seconds() / 1e6, nil
}
