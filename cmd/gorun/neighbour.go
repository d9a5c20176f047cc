package main

import (
	"os"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// newProbe makes a file, and a probe that describes it. With the probe, another agent on the same node can
// find this process.
func newProbe() (*os.File, link.Probe, error) {
	f, w, err := bootstrap.NewWitness()
	return f, link.Probe{PID: w.PID, FD: w.FD, Nonce: w.Nonce[:]}, err
}

// find looks for the process of a probe. It returns "" if the process is on this node, and otherwise the reason
// why it is not.
func find(p link.Probe) string {
	return bootstrap.Witness{PID: p.PID, FD: p.FD, Nonce: [link.NonceBytes]byte(p.Nonce)}.Find()
}
