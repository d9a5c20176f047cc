// Command protoactor measures protoactor's package remote between two processes over loopback TCP, and
// protoactor's actors within a process. Command peers compares the values with the values of bench/actors.
// Command protoactor is a module of its own, so that gorun's module does not depend on gRPC. It starts a
// second process of itself as the peer.
//
//	go -C bench/peers/protoactor run .
//	go -C bench/peers/protoactor run . -local
//
// Each line is one measurement, "name value unit", in the format of bench/actors.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
)

var (
	serve = flag.Bool("serve", false, "be the peer")
	local = flag.Bool("local", false, "measure actors of one process")
	scale = flag.Float64("scale", 1, "`factor` for the numbers of messages and actors")
)

func main() {
	flag.Parse()
	var err error
	switch {
	case *serve:
		err = peer()
	case *local:
		s := system()
		if err = spawnHost(s); err == nil {
			err = measure(&bench{s: s, address: s.Address(), scale: *scale}, withinProcess)
		}
	default:
		err = withPeer()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// system returns an actor system. The log of the actor system is discarded. When the peer ends, the log
// would report the end of the connection, which is no error here. Other errors are returned as errors of a
// measurement.
func system() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}))
}

// connected returns an actor system with a port of its own. The package remote has its default configuration,
// with one exception: gRPC may receive larger messages, because a batch of messages of 64 KiB exceeds the
// default limit.
func connected() *actor.ActorSystem {
	s := system()
	config := remote.Configure("127.0.0.1", 0)
	config.ServerOptions = append(config.ServerOptions, grpc.MaxRecvMsgSize(1<<30))
	remote.NewRemote(s, config).Start()
	return s
}

// peer spawns the actors that answer and count, and prints its address. It returns at the end of
// its standard input.
func peer() error {
	s := connected()
	if err := spawnHost(s); err != nil {
		return err
	}
	fmt.Println(s.Address())
	if _, err := bufio.NewReader(os.Stdin).ReadByte(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// withPeer starts the peer and runs the measurements with it.
func withPeer() error {
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
	s := connected()
	if err := spawnHost(s); err != nil {
		return err
	}
	return measure(&bench{s: s, address: string(address), scale: *scale}, betweenProcesses)
}

// measure runs all measurements, each after a warm-up of a tenth, and prints a line for each.
func measure(b *bench, all []measurement) error {
	for _, m := range all {
		if _, err := m.run(&bench{s: b.s, address: b.address, scale: b.scale / 10}); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		v, err := m.run(b)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Printf("%-36s %14.3f %s\n", m.name, v, m.unit)
	}
	return nil
}
