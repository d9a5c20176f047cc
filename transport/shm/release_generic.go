//go:build !(amd64 || arm64) || race

package shm

import "sync/atomic"

// storeRelease stores v after everything written before it.
func storeRelease(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
