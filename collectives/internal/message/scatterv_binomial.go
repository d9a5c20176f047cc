package message

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
)

// ScatterVBinomial copies part i of c.Send of root to c.Recv of rank i, for all i. The parts may
// differ in length. Along the tree of ScatterBinomial a rank first sends each child the lengths of
// the parts of that child's subtree. Then it sends the child those parts of the subtree that have up
// to 8 KiB. Root sends longer parts directly to their ranks. At root, c.Recv may be the same memory
// as root's part of c.Send.
//
// Restrictions: none. Cost: 2 ceil(log p) alpha + (n + 8) (p-1) beta for parts of n bytes, and
// alpha + n beta more at root for each long part.
func ScatterVBinomial(p Peer, c *Call) error {
	size := p.Size()
	me := (p.Rank() - c.Root + size) % size
	lengths := make([]uint64, subtree(me, size)) // of the parts of this rank's subtree, its own part first
	mask := 1
	for ; mask < size && me&mask == 0; mask <<= 1 {
	}
	var room []byte
	if me == 0 {
		for v := range lengths {
			lengths[v] = uint64(c.SendParts.Count((v + c.Root) % size))
		}
		room = p.Scratch(shortBytes(lengths))
		at := 0
		for v, n := range lengths {
			if n <= shortPart {
				at += p.Copy(room[at:][:n], c.SendParts.Of(c.Send, (v+c.Root)%size))
			}
		}
	} else {
		parent := (me - mask + c.Root) % size
		if err := p.Recv(parent, kernel.Bytes(lengths)); err != nil {
			return err
		}
		if lengths[0] != uint64(len(c.Recv)) {
			return fmt.Errorf("%w: rank %d sent %d bytes, not %d", ErrLength, c.Root, lengths[0], len(c.Recv))
		}
		room = p.Scratch(shortBytes(lengths))
		if err := p.Recv(parent, room); err != nil {
			return err
		}
	}
	for bit := mask >> 1; bit > 0; bit >>= 1 {
		far := me + bit
		if far >= size {
			continue
		}
		below := lengths[bit:][:subtree(far, size)]
		to := (far + c.Root) % size
		if err := p.Send(to, kernel.Bytes(below)); err != nil {
			return err
		}
		if err := p.Send(to, room[shortBytes(lengths[:bit]):][:shortBytes(below)]); err != nil {
			return err
		}
	}
	return scatterVRest(p, c, room)
}

// scatterVRest is the last step of ScatterVBinomial. Root sends the long parts. Another rank
// receives its part from root if the part is long; otherwise the rank copies its part from the
// beginning of room.
func scatterVRest(p Peer, c *Call, room []byte) error {
	rank, size := p.Rank(), p.Size()
	if rank != c.Root {
		if len(c.Recv) > shortPart {
			return p.Recv(c.Root, c.Recv)
		}
		p.Copy(c.Recv, room)
		return nil
	}
	p.Copy(c.Recv, c.SendParts.Of(c.Send, rank))
	for k := 1; k < size; k++ {
		q := (rank + k) % size
		if part := c.SendParts.Of(c.Send, q); len(part) > shortPart {
			if err := p.Send(q, part); err != nil {
				return err
			}
		}
	}
	return nil
}
