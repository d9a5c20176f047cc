package node

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// GatherPipeline gathers large contributions in the blocks of root's buffer recv, in segments. Every
// other member copies its contribution into its part of the shared memory, and root copies all
// contributions out. At root, send may be the same memory as root's block of recv.
//
// Restrictions: none. Cost: alpha + p n beta at root.
func (g *Group) GatherPipeline(send, recv []byte, root int) error {
	f, err := g.flow()
	if err != nil {
		return err
	}
	each, count := f.cut(len(send), 1, f.size)
	first := f.claim(count, each)
	if g.rank == root {
		kernel.Copy(recv[root*len(send):][:len(send)], send)
	}
	for i := range count {
		s := first + uint64(i)
		if g.rank == root {
			if err := f.fetchAll(recv, message.Equal(len(send)), i, each, s); err != nil {
				return err
			}
		} else if err := f.put(window(send, i, each), s); err != nil {
			return err
		}
		f.finish(s)
	}
	return nil
}

// put writes and publishes b as this member's segment s.
func (f *ring) put(b []byte, s uint64) error {
	mine, err := f.acquire(s)
	if err != nil {
		return err
	}
	copy(mine, b)
	f.publish(s)
	return nil
}

// fetchAll copies segment s of every other member to piece i (see window) of that member's block of recv. It
// begins with the member after this one, so that the members do not all read the same part at the
// same time.
func (f *ring) fetchAll(recv []byte, parts message.Parts, i, each int, s uint64) error {
	for k := 1; k < len(f.parts); k++ {
		q := (f.g.rank + k) % len(f.parts)
		theirs, err := f.written(q, s)
		if err != nil {
			return err
		}
		copy(window(parts.Of(recv, q), i, each), theirs)
	}
	return nil
}
