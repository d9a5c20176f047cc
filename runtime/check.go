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

// ErrCheck says that a program that ran with GORUN_CHECK=1 made mistakes in its use of this
// package that happened to do no harm.
var ErrCheck = errors.New("check")

// CheckError is the error of World.Close with GORUN_CHECK=1 (gorun -check). It is ErrCheck.
type CheckError struct {
	// Rank is the world rank, Findings what it did, each with its source line.
	Rank     int
	Findings []string
	// told says that the launcher has printed them.
	told bool
}

// Error implements error.
func (e *CheckError) Error() string {
	return "check: " + strings.Join(e.Findings, "\n  ")
}

// Is makes it ErrCheck.
func (e *CheckError) Is(target error) bool { return target == ErrCheck }

// check is what a rank remembers with GORUN_CHECK=1: the requests, buffers, communicators and
// persistent operations that have not ended, with the lines that made them. It is nil
// otherwise, and its methods do nothing then.
type check struct {
	seed maphash.Seed

	// mu guards the fields below it. Nothing is called under it.
	mu      sync.Mutex
	pending map[*watched]bool
	open    map[any]string // what has to be closed or received, with what is said otherwise
	found   map[string]int // findings and notes, and how often
	order   []string       // findings in their order
}

// newCheck returns the check of a rank, nil without GORUN_CHECK=1.
func newCheck() *check {
	if setting(envCheck) != "1" {
		return nil
	}
	return &check{seed: maphash.MakeSeed(), pending: map[*watched]bool{}, open: map[any]string{}, found: map[string]int{}}
}

// watched is a request whose result was not taken.
type watched struct {
	check *check
	what  string // with its line
	// reads and writes are the memory of the caller that the runtime reads and writes, nil for none, and sum is what was
	// in reads at the start.
	reads, writes []byte
	sum           uint64
}

// conflicts reports whether two requests may not be under way together.
func (p *watched) conflicts(q *watched) bool {
	return overlap(p.writes, q.writes) || overlap(p.writes, q.reads) || overlap(p.reads, q.writes)
}

// start watches a request and compares its memory with that of the others. It returns nil
// without a check, and for the requests that a library makes for its own messages.
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

// startTask watches a request of NewRequest, which may be a library's for the program.
func (k *check) startTask(reads, writes []byte) *watched {
	if k == nil {
		return nil
	}
	line, _ := callsite.Caller(stackHere())
	if overlap(reads, writes) {
		reads = nil // in place: it changes
	}
	return k.watch(&watched{check: k, what: "the nonblocking operation at " + line, reads: reads, writes: writes})
}

// watch begins a watch.
func (k *check) watch(p *watched) *watched {
	p.sum = maphash.Bytes(k.seed, p.reads)
	k.mu.Lock()
	defer k.mu.Unlock()
	for q := range k.pending {
		if p.conflicts(q) {
			k.find(fmt.Sprintf("the memory of %s is that of %s, which has not ended", p.what, q.what))
		}
	}
	k.pending[p] = true
	return p
}

// refused returns a request that could not be started: its error is the result that nobody may
// take.
func (k *check) refused(what string, err error) Request {
	r := unstarted(err)
	if err != nil {
		r.rest.watched = k.start(what, nil, false)
	}
	return r
}

// end ends the watch when the result is taken.
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

// opened remembers what has to be closed. omission, with the line of the call behind it, is what
// is said if it is not.
func (k *check) opened(thing any, omission string) {
	if k == nil {
		return
	}
	at := here()
	if at == "" {
		return // a library's
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open[thing] = omission + at
}

// closed forgets it.
func (k *check) closed(thing any) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, thing)
}

// find notes a finding. mu is held.
func (k *check) find(what string) {
	if k.found[what]++; k.found[what] == 1 {
		k.order = append(k.order, what)
	}
}

// findings ends the check when all ranks are about to leave: what is left is an error.
func (k *check) findings(w *World) error {
	if k == nil {
		return nil
	}
	unreceived := w.unreceived()
	for n := -1; n != len(unreceived); unreceived = w.unreceived() { // a poll takes what has come, not all of it
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

// findings is what the check of a rank has found when all ranks are about to leave. In a process of
// its own it is told to the launcher before any rank ends with it, because gorun ends the others then.
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

// counted is a finding with how often it was found. mu is held.
func (k *check) counted(what string) string {
	if n := k.found[what]; n > 1 {
		return fmt.Sprintf("%s (%d times)", what, n)
	}
	return what
}

// mode is the mode of a send: with a check those of the program are synchronous, so that it
// does not depend on what the runtime stores.
func (k *check) mode(c *Comm, m engine.Mode) engine.Mode {
	if k != nil && m == engine.Standard && c.id%contextStride == contextUser {
		return engine.Synchronous
	}
	return m
}

// hereDepth is how many frames are searched for the program's.
const hereDepth = 32

// here is the program's line behind " at ", "" if a library of gorun called.
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

// stackHere is the stack of the goroutine.
func stackHere() []uintptr {
	stack := make([]uintptr, hereDepth)
	return stack[:goruntime.Callers(2, stack)]
}

// libraryPaths begin the names of the functions of gorun's libraries.
var libraryPaths = [...]string{"github.com/gorun-hpc/gorun/collectives.", "github.com/gorun-hpc/gorun/runtime/actors.", "github.com/gorun-hpc/gorun/runtime/checkpoint."}
