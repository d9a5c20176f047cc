package node

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// pullChunk is the number of bytes that are read and combined at a time. They stay in the second-level cache,
// and they are so many that a system call, of 1.5 us on an Intel Xeon, costs little.
const pullChunk = 128 << 10

// Contributions of at least pullHalvesMin bytes are combined by both members, in rounds of pullRound bytes. The
// member that is not root needs memory for half of a round.
const (
	pullHalvesMin = 2 << 20
	pullRound     = 4 << 20
)

// ReducePull combines the contributions of two members into root's buffer recv. Root reads the other
// member's contribution from that member's private memory. If the contributions are long, each member
// combines one half of each round (see pullRound), and root reads the other member's result. At root, recv
// may be the same memory as send.
//
// Restrictions: CanPull returns true; two members. Cost: 2 alpha + n (beta + gamma) or, if each member combines
// one half, 4 (n/pullRound) alpha + n (beta + gamma/2), and the kernel's work on each page.
func (g *Group) ReducePull(send, recv []byte, root int, r message.Reduction) error {
	g.note(send)
	if len(send) >= pullHalvesMin {
		return g.reduceHalves(send, recv, root, r)
	}
	if g.rank != root {
		return g.lending.lendTo(root, send)
	}
	return g.lending.borrow(func(l *peerReads) error { return l.pullAndCombine(recv, send, 0, r) })
}

// reduceHalves is ReducePull for long contributions. Root combines the second half of each round.
func (g *Group) reduceHalves(send, recv []byte, root int, r message.Reduction) error {
	round := max(pullRound-pullRound%r.Elem, r.Elem)
	for from := 0; from < len(send); from += round {
		mine := send[from:min(from+round, len(send))]
		half := len(mine) / r.Elem / 2 * r.Elem
		if g.rank != root {
			result := g.lending.scratch(&g.lending.result, half)
			g.note(result)
			err := g.lending.during(mine, func(l *peerReads) error { return l.pullAndCombine(result, mine[:half], 0, r) })
			if err == nil {
				err = g.lending.lendTo(root, result)
			}
			if err != nil {
				return err
			}
			continue
		}
		out := recv[from:][:len(mine)]
		err := g.lending.during(mine, func(l *peerReads) error { return l.pullAndCombine(out[half:], mine[half:], half, r) })
		if err == nil {
			g.note(out[:half])
			err = g.lending.borrow(func(l *peerReads) error { return l.pull(1-root, 0, out[:half]) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pullAndCombine combines mine with the bytes [off, off+len(mine)) of the slice that the other member
// exposes, and signals after the last read that its reads are finished. The operands are in the order of the
// ranks. The result is in out, which has the length of mine and may be the same memory as mine.
func (l *peerReads) pullAndCombine(out, mine []byte, off int, r message.Reduction) error {
	size := max(pullChunk-pullChunk%r.Elem, r.Elem)
	chunk := l.scratch(&l.chunk, min(size, len(mine)))
	other := 1 - l.g.rank
	for at := 0; at < len(mine); at += size {
		theirs := chunk[:min(size, len(mine)-at)]
		l.g.note(theirs)
		if err := l.pull(other, off+at, theirs); err != nil {
			return err
		}
		if at+size >= len(mine) {
			l.finish()
		}
		a, b := mine[at:][:len(theirs)], theirs
		if other == 0 {
			a, b = b, a
		}
		r.Fn(out[at:][:len(theirs)], a, b)
	}
	return nil
}

// scratch returns n bytes of *room, which grows as needed.
func (l *peerReads) scratch(room *[]byte, n int) []byte {
	if len(*room) < n {
		*room = make([]byte, n)
	}
	return (*room)[:n]
}
