package message

// patBuffer is the length in bytes up to which the parallel trees put blocks in one message: that
// saves latency, and costs a copy at both ends.
const patBuffer = 64 << 10

// pat are the parallel aggregated trees of AllGatherPAT and ReduceScatterPAT: in round d the
// blocks b of ranks b, b+2d, b+4d, ... travel between these and the ranks d after them. A block
// meets every rank once.
type pat struct {
	p     Peer
	parts Parts
	buf   []byte
	// room is for messages of several blocks, one on the way out and one on the way in.
	room []byte
}

// newPAT returns the trees of the blocks of buf; extra bytes of scratch come with it.
func newPAT(p Peer, parts Parts, buf []byte, extra int) (t *pat, scratch []byte) {
	most := max(patBuffer, parts.Longest(p.Size()))
	scratch = p.Scratch(extra + 2*most)
	return &pat{p: p, parts: parts, buf: buf, room: scratch[extra:]}, scratch[:extra]
}

// block returns the number of the block that is x behind a rank.
func (t *pat) block(rank, x int) int { return (rank - x + t.p.Size()) % t.p.Size() }

// message returns the end of the blocks that are in one message, from that x behind rank on in
// round d, and their length. There are none if end is x.
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

// round exchanges the blocks of round d. This rank sends those behind rank out to rank to, and
// receives those behind rank in from rank from; take gets each of these with its place in buf.
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
