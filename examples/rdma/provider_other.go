//go:build !linux

package main

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	verbsprovider "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// provider returns a provider without adapters, because package iwarp is only for Linux.
func provider() verbs.Provider { return nothing{} }

type nothing struct{}

// Name implements verbs.Provider.
func (nothing) Name() string { return "none" }

// Interfaces implements verbs.Provider.
func (nothing) Interfaces() ([]string, error) { return nil, nil }

// Open implements verbs.Provider.
func (nothing) Open(string, verbsprovider.Adapter) (verbsprovider.Device, error) {
	return nil, fmt.Errorf("iwarp is for Linux: %w", errors.ErrUnsupported)
}
