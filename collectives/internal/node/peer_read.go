package node

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"syscall"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// Process identifies a process to other members. Another process may later get the same process ID.
// Therefore a Process also has a random word, the cookie, which is at address CookieAt of the
// process's private memory.
type Process struct{ ID, Cookie, CookieAt uint64 }

// Reader reads the private memory of other members' processes.
type Reader interface {
	// Process returns the ID of this member's process, by which the other members find it.
	Process() uint64
	// Read copies len(dst) bytes from address addr of process p. It fails if the read is not allowed,
	// or if members are goroutines of one process. It fails with ESRCH if the process has ended, even
	// if another process has its ID now.
	Read(p Process, addr uint64, dst []byte) error
}

// errTakenBack is the error of a read from private memory of a member whose own operation has failed.
var errTakenBack = errors.New("the member took its memory back")

// peerReads lets members read each other's slices in place. The operations are numbered. In each
// operation a member exposes at most one slice. The member may change the slice again when all members
// that read it have finished their reads. A part has three cache lines, and a word for each member:
//
//	offset   0  lent     2n when the slice of operation n can be read; 2n+1 when its
//	                     owner gave up: data read in operation n is then invalid
//	offset   8  process  ID of the owner's process
//	offset  16  address  of the slice
//	offset  64  done     n or more when the owner has finished its reads in operation n
//	offset 128  verdict  refused or granted: whether the owner was able to read the
//	                     cookies of all members
//	offset 136  cookie   a word that the owner also has in its private memory
//	offset 144  address  of that word in the owner's private memory
//	offset 192+8q        offset of the part for member q in the slice, in an operation whose parts
//	                     may lie anywhere in it
type peerReads struct {
	g     *Group
	mem   Memory
	cards []peerReadCard
	// cookie is the word in this member's private memory that the others read to identify its process.
	// It stays there as long as the peerReads exist.
	cookie []byte
	// processes holds each member's Process. It is read from shared memory once, because members can
	// change it there.
	processes []Process
	// number is the number of the current operation. held is the exposed slice. Other members have
	// only its address, so this reference keeps the slice from being garbage-collected.
	number uint64
	held   []byte
	// finished is the number of the latest operation for which finish was called.
	finished uint64
	granted  bool
	// chunk is memory for the piece of the other member's contribution that ReducePull reads. result is
	// memory for the operands that this member has combined for root.
	chunk, result []byte
	// read counts the reads. The count itself is not used: its addition orders memory accesses (see
	// the method copy).
	read atomic.Uint64
}

type peerReadCard struct {
	lent, process, addr, done, verdict, cookie, cookieAt *Word
	part                                                 *Word // the offset of the part for this member
}

const (
	peerReadBytes = 3 * line

	refused = 1
	granted = 2
)

// CanPull reports whether every member can read every other member's private memory. All members must
// make the first call together. In this call, each member tries to read the cookies of the other
// members, until a read fails.
func (g *Group) CanPull() (bool, error) {
	if g.lending != nil {
		return g.lending.granted, nil
	}
	mem, err := g.openMore(peerReadBytes + 8*g.size)
	if err != nil {
		return false, err
	}
	l := &peerReads{g: g, mem: mem, cards: make([]peerReadCard, g.size), cookie: make([]byte, 8), processes: make([]Process, g.size)}
	for q := range l.cards {
		at := func(off int) *Word { return wordAt(mem.Part(q), off) }
		l.cards[q] = peerReadCard{at(0), at(8), at(16), at(line), at(2 * line), at(2*line + 8), at(2*line + 16), at(peerReadBytes + 8*g.rank)}
	}
	if l.granted, err = l.probe(); err != nil {
		return false, err
	}
	g.lending = l
	return l.granted, nil
}

// probe reports whether every member can read from every other member. This member reads 0 bytes from
// the other members, one after the other, until a read fails. Such a read succeeds only if the process can be
// read and has the expected cookie.
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

// during executes an operation in which all other members may read b. It calls pull, which does this
// member's reads, and may call finish after the last of them. during returns when all members have finished their
// reads.
func (l *peerReads) during(b []byte, pull func(l *peerReads) error) error {
	l.lend(b)
	err := pull(l)
	if err == nil {
		l.finish()
		err = l.settle()
	}
	if err != nil {
		l.revoke()
	}
	return err
}

// lendTo executes an operation in which only member q may read b, and this member reads nothing. lendTo
// returns when member q has finished its reads.
func (l *peerReads) lendTo(q int, b []byte) error {
	l.lend(b)
	err := l.await(l.cards[q].done, l.number)
	if err != nil {
		l.revoke()
		return err
	}
	l.keep()
	return nil
}

// borrow executes an operation in which no other member reads from this member. It calls pull, which does
// this member's reads, and may call finish after the last of them. borrow does not wait for other members that
// read.
func (l *peerReads) borrow(pull func(l *peerReads) error) error {
	l.number++
	err := pull(l)
	if err == nil {
		l.finish()
	}
	return err
}

// nobody is the argument pull of during at a member that reads from no other member.
func nobody(*peerReads) error { return nil }

// lend begins the next operation and exposes b: the others may read it from now on.
func (l *peerReads) lend(b []byte) {
	l.number++
	l.held = b
	mine := l.cards[l.g.rank]
	mine.addr.Store(addressOf(b))
	l.mem.Signal(mine.lent, 2*l.number)
}

// place tells the other members where their parts are in the slice of the next operation. It may
// overwrite the words of the last operation with parts, because this member's call of during for that
// operation has returned, so that all members have read their words.
func (l *peerReads) place(parts message.Parts) {
	mine := l.mem.Part(l.g.rank)
	for q := range l.cards {
		wordAt(mine, peerReadBytes+8*q).Store(uint64(parts.Offset(q)))
	}
}

// pullPart is pull for the part of member q's slice that q has assigned to this member by the method place. The
// part's offset is valid once q has exposed the slice.
func (l *peerReads) pullPart(q int, dst []byte) error {
	if err := l.await(l.cards[q].lent, 2*l.number); err != nil {
		return err
	}
	return l.pull(q, int(l.cards[q].part.Load()), dst)
}

// exposed reports whether member q has exposed its slice of the current operation.
func (l *peerReads) exposed(q int) bool { return l.cards[q].lent.Load() >= 2*l.number }

// pull waits until member q exposes its slice, and copies len(dst) bytes from offset off of that slice.
func (l *peerReads) pull(q, off int, dst []byte) error {
	if err := l.await(l.cards[q].lent, 2*l.number); err != nil {
		return err
	}
	err := l.copy(q, off, dst)
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, errTakenBack) {
		// The member's process has ended, or its operation has failed. A member whose slice is read does
		// not begin its next operation before the reads have finished. So a wait for that member's next
		// operation ends with the cause: the error of the member's loss, or the error with which the
		// member breaks the communicator.
		if lost := l.await(l.cards[q].lent, 2*(l.number+1)); lost != nil {
			return lost
		}
	}
	return err
}

// copy is the second half of pull: it does not wait, because member q has already exposed its slice.
func (l *peerReads) copy(q, off int, dst []byte) error {
	if err := l.g.agree(q); err != nil {
		return err
	}
	err := l.g.reader.Read(l.processes[q], l.cards[q].addr.Load()+uint64(off), dst)
	// The load of lent must come after the read of the data. On processors that reorder loads, the
	// addition enforces this order. The addition has release semantics, so that it comes after the
	// read. The load of lent comes after the addition.
	l.read.Add(1)
	if err == nil && l.cards[q].lent.Load() != 2*l.number {
		err = errTakenBack
	}
	if err != nil {
		return fmt.Errorf("read from member %d: %w", q, err)
	}
	return nil
}

// finish signals that this member has finished its reads of the current operation. Further calls in the same
// operation have no effect.
func (l *peerReads) finish() {
	if l.finished != l.number {
		l.finished = l.number
		l.mem.Signal(l.cards[l.g.rank].done, l.number)
	}
}

// settle waits until the other members have finished their reads.
func (l *peerReads) settle() error {
	for q := range l.cards {
		if q == l.g.rank {
			continue
		}
		if err := l.await(l.cards[q].done, l.number); err != nil {
			return err
		}
	}
	l.keep()
	return nil
}

// keep ends the time for which the exposed slice must not be collected.
func (l *peerReads) keep() {
	goruntime.KeepAlive(l.held)
	l.held = nil
}

// revoke withdraws the slice after the operation has failed. Other members may still be reading the
// slice, although the caller may now change it. The word lent tells them that the data is invalid.
// Signal loads a word after it has stored lent. So a member that sees a later store of the caller
// also sees the new value of lent.
func (l *peerReads) revoke() {
	l.mem.Signal(l.cards[l.g.rank].lent, 2*l.number+1)
	l.held = nil
}

func (l *peerReads) await(w *Word, v uint64) error { return l.g.awaitIn(l.mem, w, v) }
