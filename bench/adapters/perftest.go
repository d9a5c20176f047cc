package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/probe"
)

// perftest are the programs that measure the adapter without gorun, with their arguments.
var perftest = [][]string{
	{"ib_send_lat", "-F", "-s", "8"},
	{"ib_read_bw", "-F", "-s", "65536"},
	{"ib_send_bw", "-F", "-s", "8"},
}

// retryAfter is how long a client waits before it tries again to reach its server, which says
// to nobody when it listens, and tries is how often it does.
const (
	retryAfter = 100 * time.Millisecond
	tries      = 50
)

// runPerftest runs perftest over a device, if it is installed, server and client on this host.
func runPerftest(ctx context.Context, out *page, o *options, d *probe.Device) error {
	if o.hosts != "" {
		out.say("\nperftest: not run between hosts; ib_send_lat and ib_read_bw do it by hand\n")
		return nil
	}
	var errs []error
	for _, p := range perftest {
		if _, err := exec.LookPath(p[0]); err != nil {
			out.say("\n%s: not installed (package perftest)\n", p[0])
			continue
		}
		args := append([]string{"-d", d.Name}, p[1:]...)
		if d.Port > 1 {
			args = append(args, "-i", strconv.Itoa(d.Port))
		}
		address := "127.0.0.1"
		if d.Kind == "iWARP" && len(d.Interfaces) > 0 { // its queue pairs are connected by rdma_cm, through the device
			args = append(args, "-R")
			address = addressOf(d.Interfaces[0])
		}
		out.say("\n%s %s:\n\n", p[0], strings.Join(args, " "))
		text, err := pair(ctx, o, p[0], args, address)
		out.say("%s", indented(text))
		if err != nil {
			out.say("  failed: %v\n", err)
			errs = append(errs, fmt.Errorf("%s: %w", p[0], err))
		}
	}
	return errors.Join(errs...)
}

// addressOf is the first address of an interface, or one that fails with a message.
func addressOf(name string) string {
	if i, err := net.InterfaceByName(name); err == nil {
		if list, err := i.Addrs(); err == nil && len(list) > 0 {
			if p, err := netip.ParsePrefix(list[0].String()); err == nil {
				return p.Addr().String()
			}
		}
	}
	return "127.0.0.1"
}

// pair runs a server and a client and returns what the client has printed.
func pair(ctx context.Context, o *options, program string, args []string, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	server := exec.CommandContext(ctx, program, args...)
	if err := server.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	var text string
	var err error
	for range tries {
		if text, err = execute(ctx, o, append(append([]string{program}, args...), address)...); err == nil {
			return text, <-ended
		}
		select {
		case serverErr := <-ended:
			return text, fmt.Errorf("client: %w; server: %w", err, orEnded(serverErr))
		case <-time.After(retryAfter):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	cancel()
	return text, errors.Join(err, <-ended)
}

// errEnded says that a server has ended before its client.
var errEnded = errors.New("ended")

func orEnded(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}
