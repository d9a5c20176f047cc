package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gorun-hpc/gorun/bench/internal/stage"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// hosts are the emulated hosts of a plan. Close must be called.
type hosts struct {
	*stage.Stage
	cluster *nscluster.Cluster
}

// errHosts is wrapped by the error of openHosts.
var errHosts = errors.New("no emulated hosts")

// openHosts makes count emulated hosts with sshd.
func openHosts(count int) (*hosts, error) {
	var c *nscluster.Cluster
	s, err := stage.Open(func(s *stage.Stage) { c = nscluster.StartSSH(s, count) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errHosts, err)
	}
	return &hosts{s, c}, nil
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
