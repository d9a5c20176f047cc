// Command launch measures the time from the start of a job, through its first barrier, to its end, on hosts
// that are reached by ssh. It runs jobs of gorun, of MPICH's mpiexec.hydra and of Open MPI's mpirun in turn,
// and ssh alone for comparison. Without -host, it simulates the hosts by namespaces of this machine, which
// requires root and sshd:
//
//	go run ./bench/launch -hosts 16
//	go run ./bench/launch -host n1,n2,n3,n4 -ppn 8
//
// Launchers that are not installed are omitted. Each launcher runs two jobs, with the same number of ranks on
// each host. One is true(1). The other is the program startup, which calls one barrier, or, for MPI, the same
// program in C. ssh alone runs only true(1), once on each host.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/gorun-hpc/gorun/bench/internal/stage"
)

// options contains the flags of the command line.
type options struct {
	names  string
	rsh    string
	count  int
	ppn    int
	rounds int
}

func main() {
	o := options{}
	flag.StringVar(&o.names, "host", "", "comma-separated `names` of hosts that ssh reaches without a password prompt; gorun and the programs are built in a directory of $TMPDIR, which all hosts must share")
	flag.StringVar(&o.rsh, "rsh", "ssh", "`command` in place of ssh, one word")
	flag.IntVar(&o.count, "hosts", 4, "`number` of hosts to make if there is no -host")
	flag.IntVar(&o.ppn, "ppn", 2, "`ranks` on each host")
	flag.IntVar(&o.rounds, "rounds", 5, "`number` of rounds")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "launch:", err)
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context) error {
	if flag.NArg() > 0 || o.count < 1 || o.ppn < 1 || o.rounds < 1 {
		return errors.New("want at least one host, rank and round, and no arguments: -h prints the flags")
	}
	dir, err := os.MkdirTemp("", "gorun-launch")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s := site{rsh: o.rsh}
	if o.names != "" {
		s.hosts = strings.Split(o.names, ",")
	} else {
		if os.Geteuid() != 0 {
			return errors.New("without -host, the hosts are namespaces of this machine, which only root can create")
		}
		t, err := stage.Open(func(t *stage.Stage) { s = emulated(t, o.count) })
		if err != nil {
			return err
		}
		defer func() { _ = t.Close() }() // after an error, hosts may remain, but the figures are not affected
	}
	systems, err := build(ctx, dir)
	if err != nil {
		return err
	}
	r := results{}
	for range o.rounds {
		for _, c := range cases(systems, s, o.ppn) {
			if r.measure(ctx, s, c); ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	fmt.Print(r.table(len(s.hosts), o.ppn, o.rounds))
	return nil
}
