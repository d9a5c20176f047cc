package collectives

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/processor"
)

// recordSize is how many calls a member remembers: a root may be some calls ahead of
// others.
const recordSize = 16

// record has a member's last calls, for members whose calls differ. Any goroutine may note
// or read a call.
type record struct{ slots [recordSize]slot }

// slot is one call. It is as written when the number is the same before and after it is
// read; 0 is no number. (Where the processor reorders stores, as on arm64, a read during a
// write may return words of two calls. They are used only in the text of an error.)
type slot struct {
	number, what, bytes uint64
	label               uint64 // of its messages
	site                callsite.Site
}

// note stores call n with its source line, that of the caller's caller or of a frame
// further out, or of a site that is not nil, and the label of its messages.
func (r *record) note(n uint64, c node.Call, label uint32, site *callsite.Site) {
	s := &r.slots[n%recordSize]
	processor.Store64(&s.number, 0)
	processor.Put64(&s.what, c.What)
	processor.Put64(&s.bytes, c.Bytes)
	processor.Put64(&s.label, uint64(label))
	if site == nil {
		s.site.Note()
	} else {
		s.site = *site
	}
	processor.Store64(&s.number, n)
}

// stack is where call n was made, until a later one replaces it.
func (r *record) stack(n uint64) *callsite.Site { return &r.slots[n%recordSize].site }

// of returns the call whose number has these low bits, and its line.
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

// history returns the labels of the calls, four bytes each, in no order.
func (r *record) history() []byte {
	var labels []byte
	for i := range r.slots {
		s := &r.slots[i]
		n := atomic.LoadUint64(&s.number)
		c := node.Call{What: atomic.LoadUint64(&s.what), Bytes: atomic.LoadUint64(&s.bytes)}
		if n != 0 && atomic.LoadUint64(&s.number) == n {
			labels = binary.LittleEndian.AppendUint32(labels, label(c.Fingerprint(), n))
		}
	}
	return labels
}

// parseHistory is the inverse of history: it returns the labels by the number of their
// call. Of two of the same number the later counts.
func parseHistory(b []byte) map[uint64]uint32 {
	labels := make(map[uint64]uint32)
	for ; len(b) >= 4; b = b[4:] {
		said := binary.LittleEndian.Uint32(b)
		labels[uint64(said)%labelNumbers] = said
	}
	return labels
}

// highest returns the number of the latest call.
func (r *record) highest() uint64 {
	var n uint64
	for i := range r.slots {
		n = max(n, atomic.LoadUint64(&r.slots[i].number))
	}
	return n
}

// packagePath and runtimePath begin the names of the functions that work on behalf of the
// caller; those of package runtime start persistent operations.
const (
	packagePath = "github.com/gorun-hpc/gorun/collectives"
	runtimePath = "github.com/gorun-hpc/gorun/runtime."
)

// statement describes one call of a member.
//
//	bytes 0-7 what, 8-15 bytes, little endian, then the source line
type statement struct {
	node.Call
	line  string
	label uint32 // of its messages, which is not sent
}

const statementHead = 16

func (s statement) encode() []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, statementHead+len(s.line)), s.What)
	b = binary.LittleEndian.AppendUint64(b, s.Bytes)
	return append(b, s.line...)
}

// parseStatement is the inverse of encode. An answer of another length is none.
func parseStatement(b []byte) (statement, bool) {
	if len(b) < statementHead {
		return statement{}, false
	}
	return statement{
		Call: node.Call{What: binary.LittleEndian.Uint64(b), Bytes: binary.LittleEndian.Uint64(b[8:])},
		line: string(b[statementHead:]),
	}, true
}
