// Command adapters reports which RDMA adapters this host has and how fast gorun is over them. The
// report is meant for an issue or for a list of adapters:
//
//	go run ./bench/adapters
//	go run ./bench/adapters -host nodeA,nodeB -rsh ssh
//
// The report lists the devices, their ports, GIDs and limits, and the provider that drives each device. For
// each adapter that can be used, the command measures the registration of memory. It also runs bench/latency,
// bench/bandwidth and bench/messagerate between two ranks, on this host or on the two hosts of -host. Without
// -host, it also runs perftest, if perftest is installed. If there is no adapter, the report says so.
// The command builds gorun and the programs, unless -bin gives a directory. That directory must contain them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/kernel"
	"github.com/gorun-hpc/gorun/transport/rdma/probe"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// options are the flags of the command line.
type options struct {
	device, hosts, rsh, bin string
	quick                   bool
	limit                   time.Duration
}

func main() {
	o := &options{}
	flag.StringVar(&o.device, "device", "", "only the adapter of this `name`")
	flag.StringVar(&o.hosts, "host", "", "`hosts` of the two ranks, as in gorun -host; default: both ranks on this host")
	flag.StringVar(&o.rsh, "rsh", "", "`command` that runs another command on a host, as in gorun -rsh")
	flag.StringVar(&o.bin, "bin", "", "`directory` with gorun, latency, bandwidth and messagerate; default: they are built")
	flag.BoolVar(&o.quick, "quick", false, "few messages: tests that the measurements work; the values have no meaning")
	flag.DurationVar(&o.limit, "limit", 2*time.Minute, "`time` after which a measurement is ended")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "adapters: unexpected argument %q (-h lists the flags)\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	out := &page{to: os.Stdout}
	if err := errors.Join(report(ctx, out, o), out.err); err != nil {
		fmt.Fprintln(os.Stderr, "adapters:", err)
		os.Exit(1)
	}
}

// page writes the report and keeps the first error of a write. The field to is the writer of the report.
type page struct {
	to  io.Writer
	err error
}

// say writes formatted text. It does nothing if a write has failed before.
func (p *page) say(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.to, format, args...)
	}
}

// errNoDevice is the error if no adapter has the name that -device gives.
var errNoDevice = errors.New("no such adapter")

// report writes the report. If a measurement fails, report continues with the next measurement. At the end,
// it returns the errors of all measurements.
func report(ctx context.Context, out *page, o *options) error {
	writeHost(out)
	devices := probe.System().Devices()
	if len(devices) == 0 {
		out.say("No RDMA adapter is here, so nothing is measured.\n%v\n", kernel.ErrNoDevices)
		if o.device != "" {
			return fmt.Errorf("%w: %s", errNoDevice, o.device)
		}
		return nil
	}
	jobs := &jobs{options: o}
	defer jobs.close()
	var errs []error
	found := false
	for i := range devices {
		if o.device != "" && devices[i].Name != o.device {
			continue
		}
		found = true
		if err := reportDevice(ctx, out, o, jobs, &devices[i]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", devices[i].Name, err))
		}
	}
	if !found {
		errs = append(errs, fmt.Errorf("%w: %s", errNoDevice, o.device))
	}
	return errors.Join(errs...)
}

// reportDevice writes the section of one adapter.
func reportDevice(ctx context.Context, out *page, o *options, j *jobs, d *probe.Device) error {
	out.say("\n## %s\n\n", d)
	writeFiles(out, os.DirFS("/"), d.Name)
	a, err := verbs.Open(kernel.New(kernel.Config{}), d.Spelling())
	if err != nil {
		out.say("driven by: nothing; gorun uses another adapter of this host, or iWARP over TCP\n  because: %v\n", err)
		return nil
	}
	writeAttributes(out, a.Attributes())
	err = writeRegistrations(out, a)
	if err = errors.Join(err, a.Close()); err != nil {
		out.say("registration: %v\n", err)
	}
	return errors.Join(err, j.run(ctx, out, d.Spelling()), runPerftest(ctx, out, o, d))
}

// indented returns text with two spaces in front of each line.
func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}
