package node

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// pullChunk is the number of bytes that are read and combined at a time. They stay in the second-level cache.
const pullChunk = 64 << 10

// ReducePull combines the contributions of two members into root's buffer recv. Root reads the
// other member's contribution from that member's private memory. At root, recv may be the same
// memory as send.
//
// Restrictions: CanPull, two members. Cost: 2 alpha + n (beta + gamma), and the kernel's work on
// each page.
func (g *Group) ReducePull(send, recv []byte, root int, r message.Reduction) error {
	g.note(send)
	if g.rank != root {
		return g.lending.during(send, nobody)
	}
	return g.lending.during(nil, func(l *peerReads) error { return l.pullAndCombine(send, recv, r) })
}

// pullAndCombine combines send with the slice that the other member exposes, in the order of the ranks.
func (l *peerReads) pullAndCombine(send, recv []byte, r message.Reduction) error {
	chunk := max(pullChunk-pullChunk%r.Elem, r.Elem)
	if need := min(chunk, len(send)); len(l.chunk) < need {
		l.chunk = make([]byte, need)
	}
	other := 1 - l.g.rank
	for at := 0; at < len(send); at += chunk {
		theirs := l.chunk[:min(chunk, len(send)-at)]
		if err := l.pull(other, at, theirs); err != nil {
			return err
		}
		mine, out := send[at:][:len(theirs)], recv[at:][:len(theirs)]
		if other == 0 {
			r.Fn(out, theirs, mine)
		} else {
			r.Fn(out, mine, theirs)
		}
	}
	return nil
}
