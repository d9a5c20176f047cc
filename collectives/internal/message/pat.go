package message

// patBuffer is the largest length in bytes of a message of several blocks. Putting several blocks in
// one message saves latency, and costs a copy at the sender and at the receiver.
const patBuffer = 64 << 10

// pat holds the state of the parallel aggregated trees of AllGatherPAT and ReduceScatterPAT. In the
// round of distance d, block b is transferred between rank b+x and rank b+x+d (modulo the number of
// ranks), for x = 0, 2d, 4d, .... In all rounds together, a block reaches every rank once.
type pat struct {
	p     Peer
	parts Parts
	buf   []byte
	// room has one message of blocks to send and one received message.
	room []byte
}

// newPAT returns the state for the blocks of buf, which parts describes. It also returns scratch
// memory for the caller; extra is the length of this memory in bytes.
func newPAT(p Peer, parts Parts, buf []byte, extra int) (t *pat, scratch []byte) {
	most := max(patBuffer, parts.Longest(p.Size()))
	scratch = p.Scratch(extra + 2*most)
	return &pat{p: p, parts: parts, buf: buf, room: scratch[extra:]}, scratch[:extra]
}

// block returns the number of the block of the rank that is x ranks before the argument rank.
func (t *pat) block(rank, x int) int { return (rank - x + t.p.Size()) % t.p.Size() }

// message returns which blocks are in one message of the round of distance d. The message has the
// blocks of the ranks rank-x, rank-(x+2d), rank-(x+4d), ... (see block). end is the first of the values
// x, x+2d, ... whose block is not in the message. bytes is the sum of the lengths of the blocks in the
// message. If end equals x, the message would be empty, because the round has no more blocks.
func (t *pat) message(rank, x, d int) (end, bytes int) {
	for end = x; end+d < t.p.Size(); end += 2 * d {
		n := t.parts.Count(t.block(rank, end))
		if end > x && bytes+n > patBuffer {
			break
		}
		bytes += n
	}
	return end, bytes
}

// round exchanges the blocks of the round of distance d. The arguments to, out, from and in are ranks.
// This rank sends the blocks of the ranks out, out-2d, out-4d, ... in messages to the rank in the
// argument to. It receives the blocks of the ranks in, in-2d, in-4d, ... in messages from the rank in
// the argument from. (The differences are modulo the number of ranks.) For each received block, round
// calls take: got is the received block, own is the place of this block in t.buf.
func (t *pat) round(d, to, out, from, in int, take func(own, got []byte)) error {
	most := len(t.room) / 2
	for sent, taken := 0, 0; ; {
		sentEnd, sentBytes := t.message(out, sent, d)
		takenEnd, takenBytes := t.message(in, taken, d)
		sends, takes := sentEnd > sent, takenEnd > taken
		given, got := t.room[:sentBytes], t.room[most:][:takenBytes]
		at := 0
		for ; sent < sentEnd; sent += 2 * d {
			at += t.p.Copy(given[at:], t.parts.Of(t.buf, t.block(out, sent)))
		}
		var err error
		switch {
		case sends && takes:
			err = t.p.Exchange(to, given, from, got)
		case sends:
			err = t.p.Send(to, given)
		case takes:
			err = t.p.Recv(from, got)
		default:
			return nil
		}
		if err != nil {
			return err
		}
		for at = 0; taken < takenEnd; taken += 2 * d {
			own := t.parts.Of(t.buf, t.block(in, taken))
			take(own, got[at:][:len(own)])
			at += len(own)
		}
	}
}
