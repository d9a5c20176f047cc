package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// bridging describes how two groups exchange words. Each group gathers its own words at all its ranks,
// and the two leaders exchange the words. Then each leader broadcasts the other group's words in
// its own group. All ranks of both groups take part at the same time.
type bridging struct {
	local  *Comm
	leader int // rank of this group's leader in the communicator local
	tag    int // tag of the messages of this group in the control context of local
	// The leader exchanges messages with the other leader in the communicator of the field over. The field peer
	// is the world rank of the other leader, and acrossTag is the tag of these messages. The other ranks of the
	// group exchange no such messages.
	over            *Comm
	peer, acrossTag int
	// spans is the existing communicator between the two groups. It is nil while the first such
	// communicator is being made.
	spans *Comm
	// met is true once this leader knows that the other leader has given up.
	met bool
}

// wholeInter is the tag under which an agreeing (see agreeing.go) records an operation of two groups. No message has
// this tag.
const wholeInter = -1

// giveUp is Comm.giveUp for an operation of two groups. It also calls fail, because the other group would
// otherwise wait for this group for ever.
func (b *bridging) giveUp(op string, err error) error {
	b.fail(fmt.Errorf("%s: %w", op, err))
	return b.local.giveUp(op, err)
}

// fail breaks the communicator between the groups. If this communicator does not exist yet, the leader sends an
// empty message to the other leader, unless the other leader has given up, too (met). The other leader waits for
// words or is about to wait for them. The empty message means that this group has given up.
func (b *bridging) fail(cause error) {
	switch {
	case b.spans != nil:
		b.spans.Break(cause)
	case b.local.rank == b.leader && !b.met:
		at := b.over.control(b.peer, b.acrossTag)
		// Receive the messages of the other leader, of any length, so that the other leader's sends
		// complete. There may be two messages, because the other leader may already be in the next
		// exchange.
		for range 2 {
			b.over.engine.Irecv(at, byteElement.typ, nil)
		}
		// If the send fails because the other leader is lost or the job ends, no rank waits for the message.
		// The send does not use the context of the call, because that context may have ended.
		_ = b.over.engine.Send(context.Background(), at, byteElement.typ, nil, engine.Standard)
	}
}

// failAll notifies all members of the communicator b.over that this leader has given up. It notifies
// all of them, because this leader does not know which member is the other leader. Only the other
// leader waits for this message; at the other members no receive matches it.
func (b *bridging) failAll() {
	for rank := range b.over.size {
		if rank != b.over.rank {
			b.over.engine.Isend(b.over.control(b.over.WorldRank(rank), b.acrossTag), byteElement.typ, nil, engine.Standard)
		}
	}
}

// errGaveUp is the error of swap if the leader of the other group has sent an empty message, because that group gave up
// before a communicator of both groups existed.
var errGaveUp = errors.New("the other group gave up")

// exchange returns two lists: the words of the ranks of this group, and the words of the ranks of
// the other group. Each list is in the order of the ranks. All ranks give the same number of words.
func (b *bridging) exchange(mine []uint64) (ours, theirs []uint64, err error) {
	a := agreement{comm: b.local, ranks: b.local.members(), rank: b.local.rank, tag: b.tag}
	if ours, err = a.allgather(mine); err != nil {
		return nil, nil, err
	}
	length := make([]uint64, 1)
	if b.local.rank == b.leader {
		if err := b.swap([]uint64{uint64(len(ours))}, length); err != nil {
			return nil, nil, err
		}
	}
	if err := b.spread(length); err != nil {
		return nil, nil, err
	}
	// The length comes from another rank, and memory is allocated for it. So the length is checked:
	// no group is larger than the world.
	most := uint64(len(mine)) * uint64(b.local.core.world.Size())
	if length[0] == 0 || length[0] > most || length[0]%uint64(len(mine)) != 0 {
		return nil, nil, fmt.Errorf("%w: %d words of the other group, not a multiple of %d up to %d: both groups must make the same call", ErrArgument, length[0], len(mine), most)
	}
	theirs = make([]uint64, length[0])
	if b.local.rank == b.leader {
		if err := b.swap(ours, theirs); err != nil {
			return nil, nil, err
		}
	}
	return ours, theirs, b.spread(theirs)
}

// all does the same as exchange, but returns the words of both groups in one list. The words of this group come
// first.
func (b *bridging) all(mine []uint64) ([]uint64, error) {
	ours, theirs, err := b.exchange(mine)
	return append(ours, theirs...), err
}

// swap exchanges words with the other leader.
func (b *bridging) swap(out, in []uint64) error {
	at := b.over.control(b.peer, b.acrossTag)
	s, err := b.over.exchange(outgoing{at, byteElement, bytesOf(out)}, incoming{at, byteElement, bytesOf(in)})
	if err == nil && s.Bytes == 0 {
		b.met = true
		return errGaveUp
	}
	if err == nil && s.Bytes != 8*len(in) {
		err = fmt.Errorf("%w: %d bytes from the other leader, not %d: both groups must make the same call", ErrArgument, s.Bytes, 8*len(in))
	}
	return err
}

// spread broadcasts the leader's words to its group, along a binomial tree.
func (b *bridging) spread(words []uint64) error {
	n := b.local.size
	me := (b.local.rank - b.leader + n) % n
	world := func(relative int) int { return b.local.WorldRank((relative + b.leader) % n) }
	mask := 1
	for ; mask < n; mask <<= 1 {
		if me&mask != 0 {
			from := b.local.control(world(me-mask), b.tag)
			if _, err := b.local.engine.Recv(b.local.ctx, from, byteElement.typ, bytesOf(words)); err != nil {
				return b.local.failed(err)
			}
			break
		}
	}
	for mask >>= 1; mask > 0; mask >>= 1 {
		if me+mask < n {
			to := b.local.control(world(me+mask), b.tag)
			if err := b.local.engine.Send(b.local.ctx, to, byteElement.typ, bytesOf(words), 0); err != nil {
				return b.local.failed(err)
			}
		}
	}
	return nil
}
