package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// site describes the hosts of the jobs and how they are reached.
type site struct {
	hosts  []string
	rsh    string                       // the command that reaches the hosts from where jobs are started
	inside []string                     // runs a command on the host where jobs start; nil: on this machine
	net    string                       // network that connects the hosts, "" if launchers must find it
	used   func() (time.Duration, bool) // returns the processor time of all hosts until now, nil if it is unknown
	clear  func()                       // ends processes that a job has left on the hosts, nil if they cannot be ended
}

// stage is the nscluster.TB of this program, which is not a test. The embedded testing.TB is nil. nscluster calls none
// of its methods, because stage has all methods of nscluster.TB itself.
type stage struct {
	testing.TB
	cleanups []func()
	failed   error
}

func (t *stage) Helper()          {}
func (t *stage) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *stage) TempDir() string {
	dir, err := os.MkdirTemp("", "gorun-hosts")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (t *stage) Errorf(format string, args ...any) {
	t.failed = errors.Join(t.failed, fmt.Errorf(format, args...))
}

func (t *stage) Fatal(args ...any) {
	t.failed = errors.Join(t.failed, errors.New(fmt.Sprint(args...)))
	goruntime.Goexit()
}

func (t *stage) Fatalf(format string, args ...any) { t.Fatal(fmt.Sprintf(format, args...)) }
func (t *stage) Skip(args ...any)                  { t.Fatal(args...) }
func (t *stage) Skipf(format string, args ...any)  { t.Fatalf(format, args...) }

// hosts creates count hosts for the ranks, and one more host, from which jobs are started.
func (t *stage) hosts(count int) (site, error) {
	var s site
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := nscluster.StartSSH(t, count+1)
		rsh := filepath.Join(t.TempDir(), "ssh")
		if err := os.WriteFile(rsh, []byte("#!/bin/sh\nexec "+c.SSH()+" \"$@\"\n"), 0o700); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
		s = site{hosts: c.Hosts()[1:], rsh: rsh, inside: c.Command(c.Hosts()[0]).Args, net: c.Network().String(), used: c.Processor, clear: func() { clearHosts(c) }}
	}()
	<-done
	return s, t.failed
}

// clearHosts kills all processes on the hosts, except the processes that the hosts themselves need.
func clearHosts(c *nscluster.Cluster) {
	for _, h := range c.Hosts() {
		for _, pid := range c.Processes(h) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the process may have ended
		}
	}
}

// end removes the hosts.
func (t *stage) end() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, f := range slices.Backward(t.cleanups) {
			f()
		}
	}()
	<-done
}
