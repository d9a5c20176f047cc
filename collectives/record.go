package collectives

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/processor"
)

// recordSize is the number of calls of each kind (blocking, nonblocking) that a member records. A root may be
// some calls ahead of other members. These members ask the root for its earlier calls.
const recordSize = 16

// record holds a member's last calls, to explain a mismatch. Any goroutine may note or read a call.
type record struct{ slots [recordSize]slot }

// slot holds one call. number is 0 while note writes the other fields, and before the slot's first call. A
// reader reads number before and after the other fields. If number is not 0 and has not changed, the
// other fields belong to one call.
type slot struct {
	number, what, bytes uint64
	label               uint64 // the label of the call's messages
	site                callsite.Site
}

// note records call n, with the label of its messages and the call site. If site is nil, the call
// site is the stack of note's caller.
func (r *record) note(n uint64, c node.Call, label uint32, site *callsite.Site) {
	s := &r.slots[n%recordSize]
	processor.Store64(&s.number, 0)
	processor.Fence()
	processor.Put64(&s.what, c.What)
	processor.Put64(&s.bytes, c.Bytes)
	processor.Put64(&s.label, uint64(label))
	if site == nil {
		s.site.Note()
	} else {
		for i, pc := range site {
			atomic.StoreUintptr(&s.site[i], pc)
		}
	}
	processor.Store64(&s.number, n)
}

// stack returns the call site of call n. The memory is valid until a later call replaces call n.
func (r *record) stack(n uint64) *callsite.Site { return &r.slots[n%recordSize].site }

// of returns the recorded call whose number modulo labelNumbers is low, with its source line. The
// bool reports whether such a call is recorded.
func (r *record) of(low uint64) (statement, bool) {
	s := &r.slots[low%recordSize]
	n := atomic.LoadUint64(&s.number)
	found := statement{Call: node.Call{What: atomic.LoadUint64(&s.what), Bytes: atomic.LoadUint64(&s.bytes)}}
	found.label = uint32(atomic.LoadUint64(&s.label))
	var site callsite.Site
	for i := range site {
		site[i] = atomic.LoadUintptr(&s.site[i])
	}
	if n == 0 || n%labelNumbers != low || atomic.LoadUint64(&s.number) != n {
		return statement{}, false
	}
	found.line = site.Line(packagePath, runtimePath)
	return found, true
}

// entrySize is the length in bytes of an entry of a history.
const entrySize = 8

// history returns an entry for each recorded call, little endian, in no particular order.
func (r *record) history() []byte {
	var entries []byte
	for i := range r.slots {
		s := &r.slots[i]
		n := atomic.LoadUint64(&s.number)
		c := node.Call{What: atomic.LoadUint64(&s.what), Bytes: atomic.LoadUint64(&s.bytes)}
		if n != 0 && atomic.LoadUint64(&s.number) == n {
			entries = binary.LittleEndian.AppendUint64(entries, entry(c, n))
		}
	}
	return entries
}

// entry returns the entry of call n in a history. Bits 32-63 are a fingerprint of the call alone, whereas
// the label of a blocking call has the fingerprint of all blocking calls so far. Bits 0-31 are n modulo 2^32.
// The 10 bits that a label has for the number would be too few: a rank that is labelNumbers calls behind would
// compare different calls.
func entry(c node.Call, n uint64) uint64 { return c.Fingerprint()>>32<<32 | uint64(uint32(n)) }

// parseHistory parses a result of history. It returns a map from the number of a call, modulo 2^32, to
// the entry. If two entries have the same number, the map has the entry that comes later in b.
func parseHistory(b []byte) map[uint32]uint64 {
	entries := make(map[uint32]uint64)
	for ; len(b) >= entrySize; b = b[entrySize:] {
		said := binary.LittleEndian.Uint64(b)
		entries[uint32(said)] = said
	}
	return entries
}

// highest returns the number of the latest call, or 0 before the first call.
func (r *record) highest() uint64 {
	var n uint64
	for i := range r.slots {
		n = max(n, atomic.LoadUint64(&r.slots[i].number))
	}
	return n
}

// packagePath and runtimePath are prefixes of the names of functions. These functions are skipped when the
// source line of a call is looked up. Package runtime is skipped, because its functions start persistent operations.
const (
	packagePath = "github.com/gorun-hpc/gorun/collectives"
	runtimePath = "github.com/gorun-hpc/gorun/runtime."
)

// statement describes one call of a member. Its wire format:
//
//	bytes 0-7   What, little endian
//	bytes 8-15  Bytes, little endian
//	bytes 16-   source line
type statement struct {
	node.Call
	line  string
	label uint32 // the label of the call's messages; not part of the wire format
}

// statementHead is the length of What and Bytes in the wire format.
const statementHead = 16

func (s statement) encode() []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, statementHead+len(s.line)), s.What)
	b = binary.LittleEndian.AppendUint64(b, s.Bytes)
	return append(b, s.line...)
}

// parseStatement is the inverse of encode. It returns false if b is too short.
func parseStatement(b []byte) (statement, bool) {
	if len(b) < statementHead {
		return statement{}, false
	}
	return statement{
		Call: node.Call{What: binary.LittleEndian.Uint64(b), Bytes: binary.LittleEndian.Uint64(b[8:])},
		line: string(b[statementHead:]),
	}, true
}
