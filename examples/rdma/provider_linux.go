package main

import (
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// provider returns the provider that drives the adapter: iWARP over TCP.
func provider() verbs.Provider { return iwarp.New(iwarp.Config{}) }
