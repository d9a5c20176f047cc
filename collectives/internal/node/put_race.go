//go:build race

package node

import "sync/atomic"

func put(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
