package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// hosts are the emulated hosts of a plan. close must be called.
type hosts struct {
	cluster  *nscluster.Cluster
	dir      string
	cleanups []func()
	err      error // why the hosts cannot be made or removed
}

// errHosts is wrapped by the error of openHosts.
var errHosts = errors.New("no emulated hosts")

// openHosts makes count emulated hosts with sshd.
func openHosts(count int) (*hosts, error) {
	dir, err := os.MkdirTemp("", "gorun-hosts")
	if err != nil {
		return nil, err
	}
	h := &hosts{dir: dir}
	func() {
		defer h.catch()
		h.cluster = nscluster.StartSSH(h, count)
	}()
	if why := h.err; why != nil { // close overwrites h.err
		return nil, fmt.Errorf("%w: %w", errHosts, errors.Join(why, h.close()))
	}
	return h, nil
}

// close removes the hosts.
func (h *hosts) close() error {
	h.err = nil
	for i := len(h.cleanups) - 1; i >= 0; i-- {
		h.cleanups[i]()
	}
	return errors.Join(h.err, os.RemoveAll(h.dir))
}

// place makes system s start its ranks on the hosts, one on each. Its launcher runs on the first host and reaches the
// others by SSH.
func (h *hosts) place(s *system) {
	names := strings.Join(h.cluster.Hosts(), ",")
	s.within = []string{h.cluster.Rsh(), h.cluster.Hosts()[0]}
	if s.name == gorun {
		s.always = append(s.always, "-host", names, "-rsh", h.cluster.SSH())
		return
	}
	for _, parameter := range [][2]string{
		{"plm_rsh_agent", h.cluster.SSH()}, {"oob_tcp_if_include", "eth0"}, {"btl_tcp_if_include", "eth0"},
	} {
		s.always = append(s.always, "--mca", parameter[0], parameter[1])
	}
	s.always = append(s.always, "--host", names)
}

// failed is the value of the panic that ends the function that has failed.
type failed struct{}

// The following methods make *hosts an nscluster.TB.

// Helper does nothing.
func (h *hosts) Helper() {}

// TempDir returns the directory of the cluster's files.
func (h *hosts) TempDir() string { return h.dir }

// Cleanup makes close call f.
func (h *hosts) Cleanup(f func()) { h.cleanups = append(h.cleanups, f) }

// Errorf stores an error.
func (h *hosts) Errorf(format string, args ...any) {
	h.err = errors.Join(h.err, fmt.Errorf(format, args...))
}

// Fatalf stores an error and ends the function.
func (h *hosts) Fatalf(format string, args ...any) {
	h.Errorf(format, args...)
	panic(failed{})
}

// Fatal is Fatalf without a format.
func (h *hosts) Fatal(args ...any) { h.Fatalf("%s", fmt.Sprint(args...)) }

// Skip is Fatal, because a comparison without its hosts measures nothing.
func (h *hosts) Skip(args ...any) { h.Fatal(args...) }

// Skipf is Fatalf.
func (h *hosts) Skipf(format string, args ...any) { h.Fatalf(format, args...) }

// catch stops the panic of Fatalf.
func (h *hosts) catch() {
	if v := recover(); v != nil && v != any(failed{}) {
		panic(v)
	}
}
