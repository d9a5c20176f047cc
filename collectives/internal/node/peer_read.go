package node

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"syscall"
)

// Process identifies a process to other members: by its process ID, which another process
// may get after its end, and by a random word in its private memory.
type Process struct{ ID, Cookie, CookieAt uint64 }

// Reader reads the private memory of other members' processes.
type Reader interface {
	// Process identifies this member's process to the others.
	Process() uint64
	// Read copies len(dst) bytes at an address of a process. It fails where that is not
	// allowed, or where members are goroutines of one process, and with ESRCH if the
	// process has ended, even if another process has its ID now.
	Read(p Process, addr uint64, dst []byte) error
}

// ErrTakenBack ends an operation that reads from a member whose operation has failed.
var ErrTakenBack = errors.New("the member took its memory back")

// peerReads lets members read each other's slices in place. A member exposes one slice at a
// time, in operations that are numbered; it may change the slice again when all others have
// finished that number. Parts hold, a line each:
//
//	offset   0  lent     2n when the slice of operation n can be read, 2n+1 when
//	                     its owner gave up: what was read meanwhile is void
//	offset   8  process  of the owner
//	offset  16  address  of the slice
//	offset  64  done     n when the owner has read what it wants in operation n
//	offset 128  verdict  refused or granted: what the owner found when it tried to
//	                     read the cookies of all members
//	offset 136  cookie   a word that the owner keeps in its own memory
//	offset 144  address  of that word
type peerReads struct {
	g     *Group
	mem   Memory
	cards []peerReadCard
	// cookie is this member's own; the others read it as long as there are peerReads.
	cookie []byte
	// processes are those of the members. They are read once, because members can write
	// them.
	processes []Process
	// number is that of the current operation. held is the exposed slice. The reference
	// keeps it from the garbage collector, since peers have only its address.
	number  uint64
	held    []byte
	granted bool
	// chunk is what ReducePull has read of the other's contribution.
	chunk []byte
	// read counts the reads; see copy.
	read atomic.Uint64
}

type peerReadCard struct{ lent, process, addr, done, verdict, cookie, cookieAt *Word }

const (
	peerReadBytes = 3 * line

	refused = 1
	granted = 2
)

// CanPull reports whether every member can read every other's memory. All members test it
// together in the first call: each reads a word of every other.
func (g *Group) CanPull() (bool, error) {
	if g.lending != nil {
		return g.lending.granted, nil
	}
	mem, err := g.openMore(peerReadBytes)
	if err != nil {
		return false, err
	}
	l := &peerReads{g: g, mem: mem, cards: make([]peerReadCard, g.size), cookie: make([]byte, 8), processes: make([]Process, g.size)}
	for q := range l.cards {
		at := func(off int) *Word { return wordAt(mem.Part(q), off) }
		l.cards[q] = peerReadCard{at(0), at(8), at(16), at(line), at(2 * line), at(2*line + 8), at(2*line + 16)}
	}
	if l.granted, err = l.probe(); err != nil {
		return false, err
	}
	g.lending = l
	return l.granted, nil
}

// probe reads nothing from every other member, which fails unless its process can be read
// and has the cookie. All members must find that.
func (l *peerReads) probe() (bool, error) {
	_, _ = rand.Read(l.cookie) // never fails
	mine := l.cards[l.g.rank]
	mine.cookie.Store(binary.NativeEndian.Uint64(l.cookie))
	mine.cookieAt.Store(addressOf(l.cookie))
	if l.g.reader != nil {
		mine.process.Store(l.g.reader.Process())
	}
	l.lend(nil)
	verdict := uint64(granted)
	for q, of := range l.cards {
		if q == l.g.rank {
			continue
		}
		if err := l.await(of.lent, 2*l.number); err != nil {
			return false, err
		}
		l.processes[q] = Process{ID: of.process.Load(), Cookie: of.cookie.Load(), CookieAt: of.cookieAt.Load()}
		if l.g.reader == nil || l.g.reader.Read(l.processes[q], 0, nil) != nil {
			verdict = refused
			break
		}
	}
	l.mem.Signal(mine.verdict, verdict)
	all := true
	for _, of := range l.cards {
		if err := l.await(of.verdict, refused); err != nil {
			return false, err
		}
		all = all && of.verdict.Load() == granted
	}
	return all, nil
}

// during carries out an operation in which the others may read b, and this member reads by pull. It
// returns when all have finished.
func (l *peerReads) during(b []byte, pull func(l *peerReads) error) error {
	l.lend(b)
	err := pull(l)
	if err == nil {
		err = l.settle()
	}
	if err != nil {
		l.revoke()
	}
	return err
}

// nobody is the pull of a member that reads from nobody.
func nobody(*peerReads) error { return nil }

// lend begins an operation: the others may read b from then on.
func (l *peerReads) lend(b []byte) {
	l.number++
	l.held = b
	mine := l.cards[l.g.rank]
	mine.addr.Store(addressOf(b))
	l.mem.Signal(mine.lent, 2*l.number)
}

// pull copies len(dst) bytes at off of the slice that member q exposes.
func (l *peerReads) pull(q, off int, dst []byte) error {
	if err := l.await(l.cards[q].lent, 2*l.number); err != nil {
		return err
	}
	err := l.copy(q, off, dst)
	if errors.Is(err, syscall.ESRCH) {
		// The member's process has ended. Its next peer read cannot begin before this one
		// is settled, so a wait for it ends with the error of its loss.
		if lost := l.await(l.cards[q].lent, 2*(l.number+1)); lost != nil {
			return lost
		}
	}
	return err
}

// copy is pull from a member that has exposed its slice.
func (l *peerReads) copy(q, off int, dst []byte) error {
	if err := l.g.agree(q); err != nil {
		return err
	}
	err := l.g.reader.Read(l.processes[q], l.cards[q].addr.Load()+uint64(off), dst)
	// On processors that reorder loads, what was read is older than lent only behind a store with
	// release semantics, which the load of lent comes after.
	l.read.Add(1)
	if err == nil && l.cards[q].lent.Load() != 2*l.number {
		err = ErrTakenBack
	}
	if err != nil {
		return fmt.Errorf("read from member %d: %w", q, err)
	}
	return nil
}

// settle publishes that this member has finished its reads, and waits for the others.
func (l *peerReads) settle() error {
	l.mem.Signal(l.cards[l.g.rank].done, l.number)
	for q := range l.cards {
		if q == l.g.rank {
			continue
		}
		if err := l.await(l.cards[q].done, l.number); err != nil {
			return err
		}
	}
	goruntime.KeepAlive(l.held)
	l.held = nil
	return nil
}

// revoke withdraws the slice, which members may still read: the caller may change it as
// soon as the operation has failed. Signal loads a word after its store, so that what the caller
// stores then is not seen before lent is.
func (l *peerReads) revoke() {
	l.mem.Signal(l.cards[l.g.rank].lent, 2*l.number+1)
	l.held = nil
}

func (l *peerReads) await(w *Word, v uint64) error { return l.g.awaitIn(l.mem, w, v) }
