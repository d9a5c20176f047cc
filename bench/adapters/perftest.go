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

// perftest has the programs of the package perftest that are run, with their arguments. They measure the
// adapter without gorun.
var perftest = [][]string{
	{"ib_send_lat", "-F", "-s", "8"},
	{"ib_read_bw", "-F", "-s", "65536"},
	{"ib_send_bw", "-F", "-s", "8"},
}

// A server does not report when it begins to listen, so that a client may start too early. For this reason, a
// client that fails is started again after the time retryAfter. A client is started at most tries times.
const (
	retryAfter = 100 * time.Millisecond
	tries      = 50
)

// runPerftest runs the installed programs of perftest over a device. Server and client both run on this host.
func runPerftest(ctx context.Context, out *page, o *options, d *probe.Device) error {
	if o.hosts != "" {
		out.say("\nperftest: not run, because of -host: start its programs, such as ib_send_lat, on both hosts by hand\n")
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
		if d.Kind == "iWARP" && len(d.Interfaces) > 0 { // iWARP needs rdma_cm (-R) and an address of the device
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

// addressOf returns the first address of an interface. If the interface has no address, addressOf returns an
// address to which the client cannot connect, so that the client's error message is reported.
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

// pair runs a server and a client of a program and returns the output of the client.
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

// errEnded is the error if a server ends without an error of its own before its client has succeeded.
var errEnded = errors.New("ended without an error, before the client succeeded")

func orEnded(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}
