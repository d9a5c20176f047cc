//go:build !(amd64 || arm64) || race

package processor

import "sync/atomic"

// Store64 stores v. The store is sequentially consistent, which includes release semantics.
func Store64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

// Store32 stores v as Store64 does.
func Store32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

// Put64 stores a word. A reader is certain to see the new value only after it has seen a later Store64. Any other
// reader may see the previous value. This Put64 is an atomic store, for the reasons that processor_asm.go states.
func Put64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

// PrefetchWrite does nothing, because a prefetch affects only speed.
func PrefetchWrite(*uint64) {}

// PrefetchWriteLines does nothing, too.
func PrefetchWriteLines(*uint64, uint64) {}

// PrefetchLines does nothing, too.
func PrefetchLines(*uint64, uint64) {}

// DemoteLines does nothing, too.
func DemoteLines(*uint64, uint64) {}
