package node

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// GatherPipeline lays large contributions side by side in recv of root, in
// segments: every member but root copies its own in, root copies them out. send
// of root may be its block of recv.
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

// put copies b in as this member's segment s.
func (f *ring) put(b []byte, s uint64) error {
	mine, err := f.acquire(s)
	if err != nil {
		return err
	}
	copy(mine, b)
	f.publish(s)
	return nil
}

// fetchAll copies segment s of every other member out to window i of its block
// of recv, beginning with the next member, so that not all read the same part.
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
