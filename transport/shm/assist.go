package shm

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

// Private memory is all memory of a process except the arena. The rate of a long Get from private
// memory is limited by the rate at which one processor copies. In a shared Get, the reader therefore publishes a
// descriptor in its control area, and sends the number of the descriptor to the owner of the memory,
// the helper. The reader and the helper both claim chunks and copy them. The reader copies from the
// front, with process_vm_readv. The helper copies from the back, with process_vm_writev, if it polls
// in time. If the helper does not poll in time, the reader copies all chunks.
//
// A descriptor, in words:
//
//	0  sequence; 0 when the descriptor is not in use      reader
//	1  address of the reader's memory                     reader
//	2  length in bytes                                    reader
//	8  claims, see below                                  both, by compare-and-swap
//	9  chunks from the back that are done                 helper
//	10 1 + number from the back of a chunk that failed    helper
//
// The word of claims:
//
//	bits 40-63 low 24 bits of sequence: a helper that was suspended cannot claim
//	            chunks of a later Get that uses the same descriptor
//	bits 20-39  chunks claimed from the back
//	bits  0-19  chunks claimed from the front; bit 19 is set when the reader gives
//	            up: all remaining chunks then count as claimed
//
// The message to the owner (kindAssist) has sequence<<8 | descriptor in A, and the
// address and the token of the key in B and C.
const (
	descSequence = 0
	descAddr     = 8
	descLength   = 16
	descClaims   = 64
	descDone     = 72
	descFailed   = 80

	// minChunk and maxChunk bound the length of a chunk in bytes. Within these bounds the length is
	// a quarter of the Get.
	minChunk = 16 << 10
	maxChunk = 64 << 10
	// maxChunks is the length, in chunks, of the longest Get that can be shared.
	maxChunks = 1 << 19

	claimFront    = 1
	claimBack     = 1 << 20
	claimMask     = 1<<20 - 1
	claimGiveUp   = 1 << 19
	claimSequence = 40
)

func descriptor(control segment, number int) segment {
	return control.at(offBulk+number*bulkDescriptorBytes, bulkDescriptorBytes)
}

// chunkSize returns the length in bytes of the chunks of a Get of n bytes, a multiple
// of the page size.
func chunkSize(n int) int { return min(max(n/4&^(pageBytes-1), minChunk), maxChunk) }

// chunks returns the number of chunks of a Get of n bytes.
func chunks(n int) uint64 {
	size := chunkSize(n)
	return uint64(n+size-1) / uint64(size)
}

// chunk returns the offsets at which a chunk of a Get of n bytes begins and ends.
func chunk(number uint64, n int) (int, int) {
	size := chunkSize(n)
	start := int(number) * size
	return start, min(start+size, n)
}

// parseClaims returns the fields of a word of claims.
func parseClaims(c uint64) (front, back, sequence uint64) {
	return c & claimMask, c / claimBack & claimMask, c >> claimSequence
}

// claimChunk claims the next of total chunks for one side. unit selects the side, and is claimFront
// or claimBack. claimChunk returns the number of chunks that this side had claimed before. It
// returns false if no chunk is left, or if the descriptor has another sequence.
func claimChunk(claims *uint64, unit, sequence, total uint64) (uint64, bool) {
	for {
		c := atomic.LoadUint64(claims)
		front, back, s := parseClaims(c)
		if s != sequence&(1<<24-1) || front+back >= total {
			return 0, false
		}
		if atomic.CompareAndSwapUint64(claims, c, c+unit) {
			if unit == claimFront {
				return front, true
			}
			return back, true
		}
	}
}

// shared is the reader's side of a Get with which the owner of the memory may help.
type shared struct {
	desc segment // if desc.words is nil, the Get is not shared
	// number is the number of the descriptor.
	number   int
	sequence uint64
	// over is true if the reader has given up.
	over bool
}

// offerHelp publishes a descriptor for a Get and asks the owner to help. The reader copies alone if
// the Get is too long, if the owner has failed to help before, if no descriptor is free, or if the
// lane has no room.
func (t *Transport) offerHelp(op *bulkOp) {
	if chunks(len(op.buf)) > maxChunks || op.e.reach.lonely {
		return
	}
	for k := range bulkDescriptors {
		if t.bulk.descriptors[k] {
			continue
		}
		d := descriptor(t.control, k)
		t.bulk.sequence++
		atomic.StoreUint64(d.word(descAddr), addressOf(op.buf))
		atomic.StoreUint64(d.word(descLength), uint64(len(op.buf)))
		atomic.StoreUint64(d.word(descClaims), t.bulk.sequence<<claimSequence)
		atomic.StoreUint64(d.word(descDone), 0)
		atomic.StoreUint64(d.word(descFailed), 0)
		atomic.StoreUint64(d.word(descSequence), t.bulk.sequence)
		h := transport.Header{A: t.bulk.sequence<<8 | uint64(k), B: op.key.Addr, C: op.key.Token}
		if op.e.put(kindAssist, h, nil) != nil {
			atomic.StoreUint64(d.word(descSequence), 0)
			return
		}
		t.bulk.descriptors[k] = true
		op.shared = shared{desc: d, number: k, sequence: t.bulk.sequence}
		return
	}
}

// stepShared advances a shared Get.
func (t *Transport) stepShared(op *bulkOp, left *int) {
	d, n := op.shared.desc, len(op.buf)
	total := chunks(n)
	for *left > 0 && !op.shared.over {
		number, ok := claimChunk(d.word(descClaims), claimFront, op.shared.sequence, total)
		if !ok {
			break
		}
		start, end := chunk(number, n)
		t.copyChunk(op, start, end, left)
	}
	front, back, _ := parseClaims(atomic.LoadUint64(d.word(descClaims)))
	if back > total { // no correct peer has claimed so many
		if !t.lost(op.e.slot) {
			t.distrust(op.e.slot) // settle ends the Get
		}
		return
	}
	if front+back < total {
		return
	}
	if !op.shared.finished(back) {
		if op.idle++; op.idle >= idleTaken {
			op.stall()
		}
		return
	}
	op.attended = back > 0
	failed := atomic.LoadUint64(d.word(descFailed))
	if failed > 0 && failed <= back && !op.shared.over {
		op.e.reach.lonely = true
		start, end := chunk(total-failed, n)
		t.copyChunk(op, start, end, left)
	}
	if op.finished = !op.shared.over || op.err != nil; !op.finished {
		op.staged = true // the kernel refused process_vm_readv: begin again through staging buffers
	}
	t.bulk.unshare(op)
	if op.finished && op.err == nil {
		t.verify(op)
	}
}

// copyChunk reads one chunk. If the copy fails, the reader gives up.
func (t *Transport) copyChunk(op *bulkOp, start, end int, left *int) {
	for start < end {
		got, err := op.e.read(op.buf[start:end], op.key.Addr+uint64(start))
		if err != nil || got <= 0 {
			t.directFailed(op, err)
			op.shared.giveUp()
			return
		}
		start += got
		*left -= got
	}
}

// giveUp claims all remaining chunks, so that the helper begins no further chunk.
func (s *shared) giveUp() {
	if s.desc.words != nil {
		s.over = true
		atomic.OrUint64(s.desc.word(descClaims), claimGiveUp)
	}
}

// quiet reports whether the helper has finished every chunk that it claimed.
func (s *shared) quiet() bool {
	if s.desc.words == nil {
		return true
	}
	_, back, _ := parseClaims(atomic.LoadUint64(s.desc.word(descClaims)))
	return s.finished(back)
}

// finished reports whether the helper has finished at least the given number of chunks.
func (s *shared) finished(chunks uint64) bool {
	return atomic.LoadUint64(s.desc.word(descDone)) >= chunks
}

// unshare ends the use of a descriptor.
func (b *bulk) unshare(op *bulkOp) {
	if op.shared.desc.words == nil {
		return
	}
	atomic.StoreUint64(op.shared.desc.word(descSequence), 0)
	b.descriptors[op.shared.number] = false
	op.shared = shared{}
}

// helpJob is a shared Get of a peer. This rank is the helper.
type helpJob struct {
	e        *endpoint
	desc     segment
	number   int
	sequence uint64
	key      transport.Key
}

// assist handles the message of a peer that asks this rank to help with a Get from this rank's
// memory. It returns false if the message violates the protocol.
func (t *Transport) assist(slot int, h transport.Header) bool {
	number := h.A & 0xff
	if number >= bulkDescriptors {
		return false
	}
	e := t.endpoint(slot)
	if t.node.locals != nil || !e.direct() {
		return true
	}
	j := helpJob{
		e: e, desc: descriptor(e.control, int(number)), number: int(number), sequence: h.A >> 8,
		key: transport.Key{Addr: h.B, Token: h.C},
	}
	// A descriptor serves one Get at a time. So a message about another Get means that the previous
	// Get has ended.
	for i := range t.bulk.helps {
		if o := &t.bulk.helps[i]; o.e == e && o.number == j.number {
			*o = j
			return true
		}
	}
	t.bulk.helps = append(t.bulk.helps, j)
	return true
}

// moveHelps copies chunks for peers.
func (t *Transport) moveHelps(left *int) int {
	events := 0
	for len(t.bulk.helps) > 0 && *left > 0 {
		if t.help(&t.bulk.helps[0], left) {
			events++
			continue
		}
		last := len(t.bulk.helps) - 1
		copy(t.bulk.helps, t.bulk.helps[1:])
		t.bulk.helps[last] = helpJob{}
		t.bulk.helps = t.bulk.helps[:last]
	}
	return events
}

// help copies one chunk for a peer. It returns false if this rank has to copy no further chunk of
// the Get.
func (t *Transport) help(j *helpJob, left *int) bool {
	d := j.desc
	length := atomic.LoadUint64(d.word(descLength))
	addr := atomic.LoadUint64(d.word(descAddr))
	if t.lost(j.e.slot) || length == 0 || length > maxChunks*maxChunk || atomic.LoadUint64(d.word(descSequence)) != j.sequence {
		return false
	}
	total := chunks(int(length))
	number, ok := claimChunk(d.word(descClaims), claimBack, j.sequence, total)
	if !ok || number >= total {
		return false
	}
	start, end := chunk(total-1-number, int(length))
	copied := false
	t.useExposed(j.key.At(start), end-start, func(b []byte) {
		for at := addr + uint64(start); len(b) > 0; {
			n, err := j.e.write(b, at)
			if err != nil || n == 0 {
				return
			}
			b, at = b[n:], at+uint64(n)
		}
		copied = true
	})
	if !copied {
		atomic.StoreUint64(d.word(descFailed), number+1)
	}
	*left -= end - start
	atomic.AddUint64(d.word(descDone), 1)
	return copied
}

// useExposed calls f with n bytes of this rank's memory if a peer may read them.
func (t *Transport) useExposed(k transport.Key, n int, f func(b []byte)) {
	if k.Token != tokenArena {
		t.exposed.use(k, n, transport.AccessRead, f)
	} else if b, err := t.node.arenaBytes(t.cfg.LocalRank, k.Addr, n, createNone); err == nil {
		f(b)
	}
}
