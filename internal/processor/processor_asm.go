//go:build (amd64 || arm64) && !race

package processor

// Store64 stores v with release semantics: a reader that sees v sees everything written
// before it. sync/atomic offers only the sequentially consistent store, which on amd64 is
// an XCHG. An XCHG waits until every earlier store is complete: if the cache line of one of
// them is at another processor, this is most of the time of a message.
//
//go:noescape
func Store64(p *uint64, v uint64)

// Store32 is Store64 for a shorter word.
//
//go:noescape
func Store32(p *uint32, v uint32)

// PrefetchWrite asks for the cache line of p in order to write it soon.
//
//go:noescape
func PrefetchWrite(p *uint64)

// PrefetchWriteLines is PrefetchWrite for all cache lines of a range from p on.
// They must lie in one allocation.
//
//go:noescape
func PrefetchWriteLines(p *uint64, bytes uint64)

// DemoteLines moves all cache lines of a range from p on to a cache that is shared
// with other processors, where there is an instruction for it, so that another one
// reads them sooner. They must lie in one allocation.
//
//go:noescape
func DemoteLines(p *uint64, bytes uint64)
