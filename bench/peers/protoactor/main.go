// Command protoactor measures protoactor's own remote between two processes over
// loopback TCP: what bench/actors is compared with. It is a module of its own, so
// that gRPC stays out of the other one. It starts itself again as the peer.
//
//	cd bench/peers/protoactor && go run .
package main

import (
	"bufio"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

var (
	serve  = flag.Bool("serve", false, "be the peer")
	rounds = flag.Int("rounds", 5, "`times` that each is measured; the median is printed")
)

const wait = 30 * time.Second

// system returns an actor system with a port of its own.
func system() (*actor.ActorSystem, *remote.Remote) {
	s := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	}))
	r := remote.NewRemote(s, remote.Configure("127.0.0.1", 0))
	r.Start()
	return s, r
}

func main() {
	flag.Parse()
	var err error
	if *serve {
		err = peer()
	} else {
		err = measure()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// peer has an actor that answers and one that counts, and prints its address. It
// ends with its standard input.
func peer() error {
	s, _ := system()
	got := int64(0)
	echo := actor.PropsFromFunc(func(c actor.Context) {
		if m, ok := c.Message().(*wrapperspb.BytesValue); ok {
			c.Respond(m)
		}
	})
	count := actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *wrapperspb.BytesValue:
			got++
		case *wrapperspb.Int64Value: // comes after what it counts
			c.Respond(wrapperspb.Int64(got))
			got = 0
			_ = m
		}
	})
	for name, props := range map[string]*actor.Props{"echo": echo, "count": count} {
		if _, err := s.Root.SpawnNamed(props, name); err != nil {
			return err
		}
	}
	fmt.Println(s.Address())
	_, err := bufio.NewReader(os.Stdin).ReadByte()
	if err != nil && err.Error() != "EOF" {
		return err
	}
	return nil
}

// measure starts the peer and prints what it takes to reach it.
func measure() error {
	cmd := exec.Command(os.Args[0], "-serve")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	address, _, err := bufio.NewReader(out).ReadLine()
	if err != nil {
		return err
	}
	s, _ := system()
	m := wrapperspb.Bytes(make([]byte, 64))
	var latency, rate []float64
	for range *rounds {
		l, err := futures(s, actor.NewPID(string(address), "echo"), m)
		if err != nil {
			return err
		}
		r, err := tells(s, actor.NewPID(string(address), "count"), m)
		if err != nil {
			return err
		}
		latency, rate = append(latency, l), append(rate, r)
	}
	slices.Sort(latency)
	slices.Sort(rate)
	fmt.Printf("%-36s %14.2f us\n", "protoactor remote RequestFuture 64 B", latency[len(latency)/2])
	fmt.Printf("%-36s %14.2f M/s\n", "protoactor remote Tell 64 B", rate[len(rate)/2])
	return nil
}

// futures measures RequestFuture.
func futures(s *actor.ActorSystem, pid *actor.PID, m any) (float64, error) {
	const n = 1000
	start := time.Now()
	for range n {
		if _, err := s.Root.RequestFuture(pid, m, wait).Result(); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds() * 1e6 / n, nil
}

// tells measures the rate of one-way messages.
func tells(s *actor.ActorSystem, pid *actor.PID, m any) (float64, error) {
	const n = 100_000
	start := time.Now()
	for range n {
		s.Root.Send(pid, m)
	}
	v, err := s.Root.RequestFuture(pid, wrapperspb.Int64(n), wait).Result()
	if err != nil {
		return 0, err
	}
	if got := v.(*wrapperspb.Int64Value).Value; got != n {
		return 0, fmt.Errorf("%d of %d messages arrived", got, n)
	}
	return n / time.Since(start).Seconds() / 1e6, nil
}
