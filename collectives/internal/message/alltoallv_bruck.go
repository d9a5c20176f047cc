package message

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
)

// AllToAllVBruck copies part j of c.Send of rank i to part i of c.Recv of rank j, for all i and j.
// It executes the rounds of AllToAllBruck twice. The first time it sends the lengths of the parts,
// so that each rank learns the lengths of the parts that it will forward. The second time it sends
// the parts. c.Recv may be the same memory as c.Send. (K. Fan, T. Gilray, V. Pascucci, X. Huang, K.
// Micinski, S. Kumar, "Optimizing the Bruck algorithm for non-uniform all-to-all communication",
// HPDC 2022. In their algorithm each round sends the lengths and then the parts.)
//
// If the parts that a rank is to forward need more memory than its limit (see bruckMost), the rank treats the
// received lengths as wrong: the operation returns ErrLength, and allocates no memory for the
// parts.
//
// Restrictions: none. Cost: 2 ceil(log p) alpha + ceil(log p) (n + 8) p/2 beta for parts of n
// bytes, and copies: of all parts before and after the rounds, and of up to half of the parts at
// the beginning and at the end of each round. Best for short parts.
func AllToAllVBruck(p Peer, c *Call) error {
	b := newBruckV(p, c)
	if err := b.rounds(b.learn); err != nil {
		return err
	}
	for d, n := range b.lengths { // after the rounds: the lengths of the parts for this rank
		from := (p.Rank() - d + p.Size()) % p.Size()
		if want := c.RecvParts.Count(from); n != uint64(want) {
			return fmt.Errorf("%w: rank %d sent %d bytes, not %d", ErrLength, from, n, want)
		}
	}
	if err := b.fill(c); err != nil {
		return err
	}
	if err := b.rounds(b.move); err != nil {
		return err
	}
	for d := range b.lengths {
		from := (p.Rank() - d + p.Size()) % p.Size()
		p.Copy(c.RecvParts.Of(c.Recv, from), b.place(d))
	}
	return nil
}

// bruckV is one rank's state in AllToAllVBruck. Place d holds the part whose destination is d ranks
// after its source.
type bruckV struct {
	p Peer
	// lengths[d] is the length in bytes of the part that is at place d now. began[d] is the length
	// of the part that is at place d before the first round.
	lengths, began []uint64
	// most[d] is the length of the longest part that is ever at place d. at[d] is the offset of
	// place d in room.
	most, at []uint64
	// words is the buffer for the lengths of one round: the first half is for sending, the second
	// half for receiving. got has the lengths that were received in all rounds, in order. The method
	// move removes the lengths that it has used.
	words, got []uint64
	// limit is the largest amount of memory for parts and messages, in bytes.
	limit uint64
	// bytes is the length of the longest message of parts.
	bytes uint64
	// room has the places. given is the buffer for a message to send. The field in is the buffer
	// for a received message.
	room, given, in []byte
}

func newBruckV(p Peer, c *Call) *bruckV {
	rank, size := p.Rank(), p.Size()
	all := make([]uint64, 5*size+1) // size+1 of them for words
	b := &bruckV{p: p, lengths: all[:size], began: all[size:][:size], most: all[2*size:][:size], at: all[3*size:][:size], words: all[4*size:]}
	own := uint64(0)
	for d := range size {
		b.lengths[d] = uint64(c.SendParts.Count((rank + d) % size))
		own += b.lengths[d] + uint64(c.RecvParts.Count(d))
	}
	b.limit = max(bruckMost, own*uint64(size))
	copy(b.began, b.lengths)
	copy(b.most, b.lengths)
	return b
}

// bruckMost is the least value of a rank's limit, in bytes. The limit is the greater of bruckMost and
// a product: the total length of this rank's own parts, sent and received, times the number of ranks.
// An operation can need that much memory if all ranks have parts as long as this rank's parts.
const bruckMost = 1 << 30

// rounds calls the function do for each round k. Its argument step is 2^k. Its arguments to and from are
// the ranks to exchange with.
func (b *bruckV) rounds(do func(step, to, from int) error) error {
	rank, size := b.p.Rank(), b.p.Size()
	for step := 1; step < size; step <<= 1 {
		if err := do(step, (rank+step)%size, (rank-step+size)%size); err != nil {
			return err
		}
	}
	return nil
}

// learn exchanges the lengths of the parts of one round.
func (b *bruckV) learn(step, to, from int) error {
	half := len(b.words) / 2
	filled, bytes := 0, uint64(0)
	for d := step; d < len(b.lengths); d++ {
		if d&step != 0 {
			b.words[filled] = b.lengths[d]
			bytes += b.lengths[d]
			filled++
		}
	}
	out, in := b.words[:filled], b.words[half:][:filled]
	if err := b.p.Exchange(to, kernel.Bytes(out), from, kernel.Bytes(in)); err != nil {
		return err
	}
	b.got = append(b.got, in...)
	b.bytes = max(b.bytes, bytes)
	bytes, filled = 0, 0
	for d := step; d < len(b.lengths); d++ {
		if d&step != 0 {
			if in[filled] > b.limit-bytes {
				return fmt.Errorf("%w: rank %d announced a block of %d bytes to rank %d, more than its limit of %d bytes for all blocks", ErrLength,
					from, in[filled], b.p.Rank(), b.limit)
			}
			b.lengths[d] = in[filled]
			b.most[d] = max(b.most[d], in[filled])
			bytes += in[filled]
			filled++
		}
	}
	b.bytes = max(b.bytes, bytes)
	return nil
}

// tooLong returns the error for parts and messages that need more memory than the limit.
func (b *bruckV) tooLong(bytes uint64) error {
	return fmt.Errorf("%w: by the lengths that rank %d has received, it needs %d bytes of memory to forward blocks, more than its limit of %d bytes", ErrLength,
		b.p.Rank(), bytes, b.limit)
}

// fill allocates the memory for the parts and messages, and copies the parts of c.Send to their
// places.
func (b *bruckV) fill(c *Call) error {
	rank, size, total := b.p.Rank(), b.p.Size(), uint64(0)
	for d, n := range b.most {
		b.at[d] = total
		if total += n; total > b.limit {
			return b.tooLong(total)
		}
	}
	if total+2*b.bytes > b.limit {
		return b.tooLong(total + 2*b.bytes)
	}
	scratch := b.p.Scratch(int(total + 2*b.bytes))
	b.room, b.given, b.in = scratch[:total], scratch[total:][:b.bytes], scratch[total+b.bytes:]
	copy(b.lengths, b.began)
	for d := range size {
		b.p.Copy(b.place(d), c.SendParts.Of(c.Send, (rank+d)%size))
	}
	return nil
}

// place returns the part that is at place d now.
func (b *bruckV) place(d int) []byte { return b.room[b.at[d]:][:b.lengths[d]] }

// move exchanges the parts of one round.
func (b *bruckV) move(step, to, from int) error {
	out, in, moved := 0, 0, 0
	for d := step; d < len(b.lengths); d++ {
		if d&step != 0 {
			out += b.p.Copy(b.given[out:], b.place(d))
			in += int(b.got[moved])
			moved++
		}
	}
	if err := b.p.Exchange(to, b.given[:out], from, b.in[:in]); err != nil {
		return err
	}
	in, moved = 0, 0
	for d := step; d < len(b.lengths); d++ {
		if d&step != 0 {
			b.lengths[d] = b.got[moved]
			in += b.p.Copy(b.place(d), b.in[in:])
			moved++
		}
	}
	b.got = b.got[moved:]
	return nil
}
