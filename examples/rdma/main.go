// Command rdma does the same as rping(1). It is an example of package verbs alone, without ranks and without
// gorun. In each round the client announces a region of its memory by a Send. The server Reads the region,
// checks its contents, and reports the end of the Read by a Send. Then the client announces another region by
// a Send. The server Writes the same bytes to this region and reports the end of the Write by a Send. The
// client checks these bytes. The user starts the command in two shells, or on two machines:
//
//	go run ./examples/rdma -listen 127.0.0.1:7174 -v
//	go run ./examples/rdma -connect 127.0.0.1:7174 -count 10 -size 65536 -v
//
// An IPv6 address is written as in [::1]:7174. The provider is iWARP over TCP, which needs no RDMA hardware
// and no privileges.
//
// The messages are the same as rping's, so that rping on an iWARP device may take the place of either side.
// In this example, rping runs on Linux's siw (rdma link add siw0 type siw netdev eth0) at the address
// 10.0.0.2:
//
//	rping -s -v -a 10.0.0.2 -p 7174            # for -connect 10.0.0.2:7174
//	rping -c -V -a 10.0.0.1 -p 7174 -C 10      # for -listen 10.0.0.1:7174
//
// If rping is the server, -size must not exceed the size of rping's buffer, which is 64 bytes unless
// rping's option -S sets another size.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sizeMax is the largest value of -size. A server registers memory of this size.
const sizeMax = 64 << 20

// options are the flags of the command line.
type options struct {
	listen, connect string
	count, size     int
	timeout         time.Duration
	verbose         bool
}

func main() {
	var o options
	flag.StringVar(&o.listen, "listen", "", "be a server at this `address:port`, port 0 for any free one")
	flag.StringVar(&o.connect, "connect", "", "be a client of the server at this `address:port`")
	flag.IntVar(&o.count, "count", 10, "`number` of rounds of a client")
	flag.IntVar(&o.size, "size", 64, "number of `bytes` that the server reads and writes in each round of a client")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Second, "how `long` a client tries to connect")
	flag.BoolVar(&o.verbose, "v", false, "print every round")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "unexpected argument:", flag.Arg(0))
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &o, log.New(os.Stdout, "", 0)); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // after a signal such as ^C, the error names the signal
		}
		fmt.Fprintln(os.Stderr, "rdma:", err)
		os.Exit(1)
	}
}

// run validates the options and runs the server or the client.
func run(ctx context.Context, o *options, out *log.Logger) error {
	switch {
	case (o.listen == "") == (o.connect == ""):
		return errors.New("give either -listen or -connect, with an address:port")
	case o.count < 1 || o.size < 1 || o.size > sizeMax || o.timeout <= 0:
		return fmt.Errorf("-count is at least 1, -size from 1 to %d, -timeout positive", sizeMax)
	}
	// Every process that can connect has access to the memory. For this reason, the user must name one
	// address. The unspecified address, which means all addresses of this machine, is not accepted.
	tcp, err := net.ResolveTCPAddr("tcp", o.listen+o.connect)
	if err != nil {
		return err
	}
	at := netip.AddrPortFrom(tcp.AddrPort().Addr().Unmap(), tcp.AddrPort().Port())
	switch {
	case !at.Addr().IsValid() || at.Addr().IsUnspecified():
		return fmt.Errorf("%q does not say which address; 127.0.0.1:7174 would", o.listen+o.connect)
	case o.listen != "":
		return serve(ctx, at, o.verbose, out)
	default:
		return ping(ctx, at, o, out)
	}
}
