package node

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	goruntime "runtime"
	"syscall"
)

// Reader reads the private memory of other members' processes.
type Reader interface {
	// Process names this member's process to the others.
	Process() uint64
	// Read copies len(dst) bytes at an address of a process. It fails where that is
	// not allowed, or where members are goroutines of one process, and with ESRCH
	// where the process has ended.
	Read(process, addr uint64, dst []byte) error
}

// ErrTakenBack ends an operation that reads from a member which has given up.
var ErrTakenBack = errors.New("the member took its memory back")

// loans lets members read each other's slices where they lie. A member lends one
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
//	offset 136  cookie
type loans struct {
	g     *Group
	mem   Memory
	cards []loanCard
	// number is that of the current operation. held is the slice that is lent; it
	// is here so that the collector sees it, since peers have its address only.
	number  uint64
	held    []byte
	granted bool
}

type loanCard struct{ lent, process, addr, done, verdict, cookie *Word }

const (
	loanBytes = 3 * line

	refused = 1
	granted = 2
)

// CanPull reports whether every member can read every other's memory. They find
// out together in the first call: each reads a word of each.
func (g *Group) CanPull() (bool, error) {
	if g.lending != nil {
		return g.lending.granted, nil
	}
	mem, err := g.openMore(loanBytes)
	if err != nil {
		return false, err
	}
	l := &loans{g: g, mem: mem, cards: make([]loanCard, g.size)}
	for q := range l.cards {
		at := func(off int) *Word { return wordAt(mem.Part(q), off) }
		l.cards[q] = loanCard{at(0), at(8), at(16), at(line), at(2 * line), at(2*line + 8)}
	}
	if l.granted, err = l.probe(); err != nil {
		return false, err
	}
	g.lending = l
	return l.granted, nil
}

// probe is the first loan: of a word that holds what the shared memory says.
func (l *loans) probe() (bool, error) {
	word := make([]byte, 8)
	_, _ = rand.Read(word) // never fails
	mine := l.cards[l.g.rank]
	mine.cookie.Store(binary.NativeEndian.Uint64(word))
	if l.g.reader != nil {
		mine.process.Store(l.g.reader.Process())
	}
	l.lend(word)
	verdict := uint64(granted)
	for q := range l.cards {
		if q == l.g.rank {
			continue
		}
		var seen [8]byte
		if err := l.await(l.cards[q].lent, 2*l.number); err != nil {
			return false, err
		}
		if l.g.reader == nil || l.pull(q, 0, seen[:]) != nil || binary.NativeEndian.Uint64(seen[:]) != l.cards[q].cookie.Load() {
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
func (l *loans) lend(b []byte) {
	l.number++
	l.held = b
	mine := l.cards[l.g.rank]
	mine.addr.Store(addressOf(b))
	l.mem.Signal(mine.lent, 2*l.number)
}

// pull copies len(dst) bytes at off of the slice that member q lends.
func (l *loans) pull(q, off int, dst []byte) error {
	card := l.cards[q]
	err := l.await(card.lent, 2*l.number)
	if err == nil {
		err = l.g.agree(q)
	}
	if err != nil {
		return err
	}
	err = l.g.reader.Read(card.process.Load(), card.addr.Load()+uint64(off), dst)
	if errors.Is(err, syscall.ESRCH) {
		// The member is dead. To wait for its next loan, which cannot come before this
		// one is settled, ends with what becomes known of its death.
		if lost := l.await(card.lent, 2*(l.number+1)); lost != nil {
			return lost
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("read from member %d: %w", q, err)
	case card.lent.Load() != 2*l.number:
		return fmt.Errorf("read from member %d: %w", q, ErrTakenBack)
	}
	return nil
}

// settle says that this member has read what it wants, and waits for the others.
func (l *loans) settle() error {
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
func (l *loans) revoke() {
	l.mem.Signal(l.cards[l.g.rank].lent, 2*l.number+1)
	l.held = nil
}

func (l *loans) await(w *Word, v uint64) error { return l.g.awaitIn(l.mem, w, v) }
