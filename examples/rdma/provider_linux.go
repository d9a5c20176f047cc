package main

import (
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// provider is what drives an interface adapter.
func provider() verbs.Provider { return iwarp.New(iwarp.Config{}) }
