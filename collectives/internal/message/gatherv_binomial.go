package message

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
)

// shortPart is the length in bytes up to which parts are sent along the trees of GatherVBinomial and
// ScatterVBinomial. A longer part is sent directly, so that no rank has to forward many bytes.
const shortPart = 8 << 10

// GatherVBinomial gathers c.Send of all ranks in the parts of c.Recv of root. The length of c.Send
// may differ from rank to rank. Along the tree of GatherBinomial the ranks first send the lengths,
// so that each rank knows the lengths in its subtree. Then they send the contributions of up to 8
// KiB along the tree. Longer contributions are sent directly to root. At root, c.Send may be the
// same memory as root's part of c.Recv. (J. Träff, "Hierarchical gather/scatter algorithms with
// graceful degradation", IPDPS 2004, also sends lengths and data along one tree.)
//
// Restrictions: none. Cost: 2 ceil(log p) alpha + (n + 8) (p-1) beta for contributions of n bytes,
// and alpha + n beta more at root for each long contribution.
func GatherVBinomial(p Peer, c *Call) error {
	size := p.Size()
	me := (p.Rank() - c.Root + size) % size
	lengths := make([]uint64, subtree(me, size)) // for the ranks of this rank's subtree, this rank first
	lengths[0] = uint64(len(c.Send))
	mask := 1
	for ; mask < size && me&mask == 0; mask <<= 1 {
		if far := me + mask; far < size {
			if err := p.Recv((far+c.Root)%size, kernel.Bytes(lengths[mask:][:subtree(far, size)])); err != nil {
				return err
			}
		}
	}
	if me == 0 {
		return gatherVRoot(p, c, lengths)
	}
	parent := (me - mask + c.Root) % size
	if err := p.Send(parent, kernel.Bytes(lengths)); err != nil {
		return err
	}
	room := p.Scratch(shortBytes(lengths))
	at := 0
	if len(c.Send) <= shortPart {
		at = p.Copy(room, c.Send)
	}
	for bit := 1; bit < mask; bit <<= 1 {
		if far := me + bit; far < size {
			n := shortBytes(lengths[bit:][:subtree(far, size)])
			if err := p.Recv((far+c.Root)%size, room[at:][:n]); err != nil {
				return err
			}
			at += n
		}
	}
	if err := p.Send(parent, room); err != nil || len(c.Send) <= shortPart {
		return err
	}
	return p.Send(c.Root, c.Send)
}

// gatherVRoot receives the contributions at root. lengths has the lengths of the contributions of
// all ranks, starting with root.
func gatherVRoot(p Peer, c *Call, lengths []uint64) error {
	size := p.Size()
	for v := range lengths {
		q := (v + c.Root) % size
		if want := c.RecvParts.Count(q); lengths[v] != uint64(want) {
			return fmt.Errorf("%w: rank %d sent %d bytes, not %d", ErrLength, q, lengths[v], want)
		}
	}
	p.Copy(c.RecvParts.Of(c.Recv, c.Root), c.Send)
	for bit := 1; bit < size; bit <<= 1 {
		below := lengths[bit:][:subtree(bit, size)]
		room := p.Scratch(shortBytes(below))
		if err := p.Recv((bit+c.Root)%size, room); err != nil {
			return err
		}
		at := 0
		for i, n := range below {
			if n <= shortPart {
				at += p.Copy(c.RecvParts.Of(c.Recv, (bit+i+c.Root)%size), room[at:][:n])
			}
		}
	}
	for v := 1; v < size; v++ {
		if q := (v + c.Root) % size; lengths[v] > shortPart {
			if err := p.Recv(q, c.RecvParts.Of(c.Recv, q)); err != nil {
				return err
			}
		}
	}
	return nil
}

// shortBytes returns the sum of the lengths of the parts that are sent along the tree.
func shortBytes(lengths []uint64) int {
	sum := 0
	for _, n := range lengths {
		if n <= shortPart {
			sum += int(n)
		}
	}
	return sum
}
