package runtime

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// ErrCheck is the error of a program that ran with GORUN_CHECK=1 and made mistakes in its use of this
// package. Without the check, such mistakes need not make a run fail.
var ErrCheck = errors.New("check")

// CheckError is the error of World.Close with GORUN_CHECK=1 (gorun -check) if there are findings. errors.Is
// reports that it is ErrCheck.
type CheckError struct {
	// Rank is the world rank. Findings are the mistakes of this rank. Each finding has a source line, except the
	// findings about messages that were not received.
	Rank     int
	Findings []string
	// told is true once the findings have been reported to the launcher, which prints them.
	told bool
}

// Error implements error.
func (e *CheckError) Error() string {
	return "check: " + strings.Join(e.Findings, "\n  ")
}

// Is reports whether target is ErrCheck.
func (e *CheckError) Is(target error) bool { return target == ErrCheck }

// check records what has begun at a rank and has not ended: requests, blocking operations, Buffers, messages, shared
// memory, communicators and persistent operations. Each record has the source line of the call that began it. Without
// GORUN_CHECK=1 the check is nil, and its methods do nothing.
type check struct {
	seed maphash.Seed

	// mu guards the fields below it. No other lock is taken while mu is held.
	mu      sync.Mutex
	pending map[*watched]bool
	open    map[any]string // objects that must still be closed or received, each with the finding for its omission
	found   map[string]int // how often each finding or note occurred
	order   []string       // findings in the order of their first occurrence
}

// newCheck returns the check of a rank, or nil if GORUN_CHECK is not on.
func newCheck(on bool) *check {
	if !on {
		return nil
	}
	return &check{seed: maphash.MakeSeed(), pending: map[*watched]bool{}, open: map[any]string{}, found: map[string]int{}}
}

// watched is a request whose result has not been taken, or a blocking operation under way.
type watched struct {
	check *check
	what  string // description with the source line
	// reads is the memory of the caller that the runtime reads, and writes is the memory of the caller
	// that the runtime writes. Each is nil if there is no such memory. sum is the hash of reads at the
	// start of the request or operation.
	reads, writes []byte
	sum           uint64
}

// conflicts reports whether two requests must not be under way at the same time: one writes memory
// that the other reads or writes.
func (p *watched) conflicts(q *watched) bool {
	return overlap(p.writes, q.writes) || overlap(p.writes, q.reads) || overlap(p.reads, q.writes)
}

// start begins to watch a request or a blocking operation, and compares its memory with the memory of all other watched
// ones. start returns nil if k is nil, and for a call that a library makes for its own messages.
func (k *check) start(what string, buf []byte, sends bool) *watched {
	if k == nil {
		return nil
	}
	at := here()
	if at == "" {
		return nil
	}
	p := &watched{check: k, what: what + at, writes: buf}
	if sends {
		p.reads, p.writes = buf, nil
	}
	return k.watch(p)
}

// startTask begins to watch a request of NewRequest, which a library may have made on behalf of the
// program.
func (k *check) startTask(reads, writes []byte) *watched {
	if k == nil {
		return nil
	}
	line, _ := callsite.Caller(stackHere())
	if overlap(reads, writes) {
		reads = nil // the operation is in place and changes this memory
	}
	return k.watch(&watched{check: k, what: "the nonblocking operation at " + line, reads: reads, writes: writes})
}

// watch adds p to the pending requests. It is a finding if the memory of p conflicts with that of
// another pending request.
func (k *check) watch(p *watched) *watched {
	p.sum = maphash.Bytes(k.seed, p.reads)
	k.mu.Lock()
	defer k.mu.Unlock()
	for q := range k.pending {
		if p.conflicts(q) {
			k.find(fmt.Sprintf("the memory of %s overlaps that of %s, which has not ended", p.what, q.what))
		}
	}
	k.pending[p] = true
	return p
}

// end ends the watch of a request when its result is taken. It is a finding if the memory that the
// runtime reads was changed meanwhile.
func (p *watched) end() {
	if p == nil {
		return
	}
	k := p.check
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.pending[p] {
		return
	}
	delete(k.pending, p)
	if maphash.Bytes(k.seed, p.reads) != p.sum {
		k.find(fmt.Sprintf("the memory of %s was changed before the request had ended", p.what))
	}
}

// opened records an object that has to be closed or received. If this does not happen, the finding consists of
// the text omission and the source line of the call that made the object.
func (k *check) opened(thing any, omission string) {
	if k == nil {
		return
	}
	at := here()
	if at == "" {
		return // a library opened it
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open[thing] = omission + at
}

// closed removes the record that opened made.
func (k *check) closed(thing any) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, thing)
}

// find records a finding. mu is held.
func (k *check) find(what string) {
	if k.found[what]++; k.found[what] == 1 {
		k.order = append(k.order, what)
	}
}

// findings ends the check when all ranks are about to leave. Results of requests that were not taken,
// objects that were not closed, and messages that were not received are findings, too.
func (k *check) findings(w *World) error {
	if k == nil {
		return nil
	}
	unreceived := w.unreceived()
	for n := -1; n != len(unreceived); unreceived = w.unreceived() { // a single poll may not receive all messages
		n = len(unreceived)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var left []string
	for p := range k.pending {
		left = append(left, fmt.Sprintf("nobody waited for %s", p.what))
	}
	left = slices.AppendSeq(left, maps.Values(k.open))
	slices.Sort(left)
	for _, what := range append(left, unreceived...) {
		k.find(what)
	}
	if len(k.order) == 0 {
		return nil
	}
	e := &CheckError{Rank: w.Rank()}
	for _, what := range k.order {
		e.Findings = append(e.Findings, k.counted(what))
	}
	return e
}

// findings returns what the check of this rank has found, when all ranks are about to leave. If the
// rank has a session, it reports the findings to the launcher. Then it waits in a fence, because
// gorun ends the other ranks as soon as one rank ends with this error.
func (w *World) findings() error {
	err := w.check.findings(w)
	if w.check == nil || w.session == nil {
		return err
	}
	if found, ok := errors.AsType[*CheckError](err); ok {
		failed(w.session, found)
		found.told = true
	}
	return errors.Join(err, w.session.Fence(context.Background()))
}

// counted returns a finding together with how often it occurred. mu is held.
func (k *check) counted(what string) string {
	if n := k.found[what]; n > 1 {
		return fmt.Sprintf("%s (%d times)", what, n)
	}
	return what
}

// mode returns the mode of a send. With a check, standard sends of the program are synchronous, so
// that a program hangs if it depends on how much the runtime buffers.
func (k *check) mode(c *Comm, m engine.Mode) engine.Mode {
	if k != nil && m == engine.Standard && c.id%contextStride == contextUser {
		return engine.Synchronous
	}
	return m
}

// hereDepth is the number of stack frames among which the function here looks for the line of the
// program.
const hereDepth = 32

// here returns " at " and the line of the program, or "" if a library of gorun made the call.
func here() string {
	stack := stackHere()
	for _, path := range libraryPaths {
		if callsite.Within(stack, path) {
			return ""
		}
	}
	line, _ := callsite.Caller(stack)
	return " at " + line
}

// stackHere returns the stack of the calling goroutine.
func stackHere() []uintptr {
	stack := make([]uintptr, hereDepth)
	return stack[:goruntime.Callers(2, stack)]
}

// libraryPaths are the prefixes of the names of the functions of gorun's libraries.
var libraryPaths = [...]string{"github.com/gorun-hpc/gorun/collectives.", "github.com/gorun-hpc/gorun/runtime/actors.", "github.com/gorun-hpc/gorun/runtime/checkpoint."}
