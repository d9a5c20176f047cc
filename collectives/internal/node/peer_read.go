package node

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	goruntime "runtime"
	"syscall"
)

// Process is a process as other members know it: by its number, which another process
// may get after its end, and by a word in its private memory that no other one has.
type Process struct{ ID, Cookie, CookieAt uint64 }

// Reader reads the private memory of other members' processes.
type Reader interface {
	// Process names this member's process to the others.
	Process() uint64
	// Read copies len(dst) bytes at an address of a process. It fails where that is
	// not allowed, or where members are goroutines of one process, and with ESRCH
	// where the process has ended, also if another one has got its number since.
	Read(p Process, addr uint64, dst []byte) error
}

// ErrTakenBack ends an operation that reads from a member which has given up.
var ErrTakenBack = errors.New("the member took its memory back")

// peerReads lets members read each other's slices where they lie. A member lends one
// slice at a time, in operations that are numbered; it gets it back when all
// others are done with that number. Parts hold, a line each:
//
//	offset   0  lent     2n when the slice of operation n can be read, 2n+1 when
//	                     its owner gave up: what was read meanwhile is void
//	offset   8  process  of the owner
//	offset  16  address  of the slice
//	offset  64  done     n when the owner has read what it wants in operation n
//	offset 128  verdict  refused or granted: what the owner found when it tried to
//	                     read everyone's cookie
//	offset 136  cookie   a word that the owner keeps in its own memory
//	offset 144  address  of that word
type peerReads struct {
	g     *Group
	mem   Memory
	cards []peerReadCard
	// cookie is this member's own; the others read it as long as there are peerReads.
	cookie []byte
	// processes are those of the members. They were read once: members can write them.
	processes []Process
	// number is that of the current operation. held is the slice that is lent; it
	// is here so that the collector sees it, since peers have its address only.
	number  uint64
	held    []byte
	granted bool
}

type peerReadCard struct{ lent, process, addr, done, verdict, cookie, cookieAt *Word }

const (
	peerReadBytes = 3 * line

	refused = 1
	granted = 2
)

// CanPull reports whether every member can read every other's memory. They find
// out together in the first call: each reads a word of each.
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

// probe is the first peer read: of the word that holds what the shared memory says.
func (l *peerReads) probe() (bool, error) {
	_, _ = rand.Read(l.cookie) // never fails
	mine := l.cards[l.g.rank]
	mine.cookie.Store(binary.NativeEndian.Uint64(l.cookie))
	mine.cookieAt.Store(addressOf(l.cookie))
	if l.g.reader != nil {
		mine.process.Store(l.g.reader.Process())
	}
	l.lend(l.cookie)
	verdict := uint64(granted)
	for q := range l.cards {
		if q == l.g.rank {
			continue
		}
		var seen [8]byte
		if err := l.await(l.cards[q].lent, 2*l.number); err != nil {
			return false, err
		}
		of := Process{ID: l.cards[q].process.Load(), Cookie: l.cards[q].cookie.Load(), CookieAt: l.cards[q].cookieAt.Load()}
		l.processes[q] = of
		if l.g.reader == nil || l.copy(q, 0, seen[:]) != nil || binary.NativeEndian.Uint64(seen[:]) != of.Cookie {
			verdict = refused
			break
		}
	}
	l.mem.Signal(mine.verdict, verdict)
	if err := l.settle(); err != nil {
		return false, err
	}
	all := true
	for q := range l.cards {
		if err := l.await(l.cards[q].verdict, refused); err != nil {
			return false, err
		}
		all = all && l.cards[q].verdict.Load() == granted
	}
	return all, nil
}

// lend begins an operation: from now on the others may read b.
func (l *peerReads) lend(b []byte) {
	l.number++
	l.held = b
	mine := l.cards[l.g.rank]
	mine.addr.Store(addressOf(b))
	l.mem.Signal(mine.lent, 2*l.number)
}

// pull copies len(dst) bytes at off of the slice that member q lends.
func (l *peerReads) pull(q, off int, dst []byte) error {
	if err := l.await(l.cards[q].lent, 2*l.number); err != nil {
		return err
	}
	err := l.copy(q, off, dst)
	if errors.Is(err, syscall.ESRCH) {
		// The member is dead. To wait for its next peer read, which cannot come before this
		// one is settled, ends with what becomes known of its death.
		if lost := l.await(l.cards[q].lent, 2*(l.number+1)); lost != nil {
			return lost
		}
	}
	return err
}

// copy is pull from a member that has lent its slice.
func (l *peerReads) copy(q, off int, dst []byte) error {
	if err := l.g.agree(q); err != nil {
		return err
	}
	err := l.g.reader.Read(l.processes[q], l.cards[q].addr.Load()+uint64(off), dst)
	if err == nil && l.cards[q].lent.Load() != 2*l.number {
		err = ErrTakenBack
	}
	if err != nil {
		return fmt.Errorf("read from member %d: %w", q, err)
	}
	return nil
}

// settle says that this member has read what it wants, and waits for the others.
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

// revoke takes the slice back from members that may still read it: the caller may
// change it as soon as the operation has failed.
func (l *peerReads) revoke() {
	l.mem.Signal(l.cards[l.g.rank].lent, 2*l.number+1)
	l.held = nil
}

func (l *peerReads) await(w *Word, v uint64) error { return l.g.awaitIn(l.mem, w, v) }
