//go:build (amd64 || arm64) && !race

package processor

// Store64 stores v with release semantics: a reader that sees v also sees all stores before it. sync/atomic
// has only the sequentially consistent store, which on amd64 is an XCHG. An XCHG waits until every earlier
// store is complete. If another processor has the cache line of one of these stores, the wait takes most of
// the time of a message.
//
//go:noescape
func Store64(p *uint64, v uint64)

// Store32 does the same as Store64 for a word of 32 bits.
//
//go:noescape
func Store32(p *uint32, v uint32)

// Put64 stores a word. A reader is certain to see the new value only after it has seen a later Store64. Any other
// reader may see the previous value. Put64 is a plain store. In builds with the race detector, it is an atomic
// store, because the race detector would report a reader that loads the word at the same time. On other
// architectures it is an atomic store, too, because Fence does nothing there.
func Put64(p *uint64, v uint64) { *p = v }

// PrefetchWrite prefetches the cache line of p for a write that follows soon.
//
//go:noescape
func PrefetchWrite(p *uint64)

// PrefetchWriteLines prefetches all cache lines of a range of bytes that begins at p, as PrefetchWrite
// does. The range must lie in one allocation.
//
//go:noescape
func PrefetchWriteLines(p *uint64, bytes uint64)

// PrefetchLines prefetches all cache lines of a range of bytes that begins at p, for reads that follow
// soon. The range must lie in one allocation.
//
//go:noescape
func PrefetchLines(p *uint64, bytes uint64)

// DemoteLines moves the cache lines of a range of bytes, which begins at p, to a cache that this processor
// shares with others. Another processor can then read the lines sooner. If the processor has no instruction for
// this, DemoteLines has no effect. The range must lie in one allocation.
//
//go:noescape
func DemoteLines(p *uint64, bytes uint64)
