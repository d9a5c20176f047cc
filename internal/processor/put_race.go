//go:build race

package processor

import "sync/atomic"

// Put64 stores a word that other processors read only after they have seen a later Store64.
func Put64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
