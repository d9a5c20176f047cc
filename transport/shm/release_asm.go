//go:build (amd64 || arm64) && !race

package shm

// storeRelease stores v after everything written before it. sync/atomic offers
// only the sequentially consistent store, which on amd64 is an XCHG and costs
// two thirds of the message rate.
//
//go:noescape
func storeRelease(p *uint64, v uint64)
