package main

import (
	"os"
	"path/filepath"
	"syscall"
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

// emulated creates count hosts for the ranks, and one more host, from which jobs are started.
func emulated(t nscluster.TB, count int) site {
	c := nscluster.StartSSH(t, count+1)
	rsh := filepath.Join(t.TempDir(), "ssh")
	if err := os.WriteFile(rsh, []byte("#!/bin/sh\nexec "+c.SSH()+" \"$@\"\n"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return site{hosts: c.Hosts()[1:], rsh: rsh, inside: c.Command(c.Hosts()[0]).Args, net: c.Network().String(), used: c.Processor, clear: func() { clearHosts(c) }}
}

// clearHosts kills all processes on the hosts, except the processes that the hosts themselves need.
func clearHosts(c *nscluster.Cluster) {
	for _, h := range c.Hosts() {
		for _, pid := range c.Processes(h) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the process may have ended
		}
	}
}
