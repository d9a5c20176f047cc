package node_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// ghost is the memory of a group with one real member. A script contains the writes of the other
// members, which are performed while the real member waits. A write has 9 bytes:
//
//	byte  0   the part; bits 6 and 7 select what is written
//	bytes 1-2 the offset in words of 8 bytes
//	bytes 3-8 the value
type ghost struct {
	parts  [][]byte
	script *[]byte
}

const scriptBytes = 9

func (g *ghost) Part(rank int) []byte          { return g.parts[rank] }
func (g *ghost) Signal(w *node.Word, v uint64) { w.Store(v) }

// Await performs writes of the script until the word has the value. At the end of the script it
// gives up.
func (g *ghost) Await(w *node.Word, v uint64) error {
	for w.Load() < v {
		s := *g.script
		if len(s) < scriptBytes {
			return errGone
		}
		*g.script = s[scriptBytes:]
		var eight [8]byte
		copy(eight[:], s[3:scriptBytes])
		value := binary.LittleEndian.Uint64(eight[:])
		switch s[0] >> 6 {
		case 0:
			w.Store(v)
		case 1:
			w.Store(v | value)
		case 2:
			w.Store(value << 16)
		default:
			part := g.parts[int(s[0])%len(g.parts)]
			at := int(binary.LittleEndian.Uint16(s[1:])) * 8 % len(part)
			binary.NativeEndian.PutUint64(part[at:], value)
		}
	}
	return nil
}

// FuzzOthers lets the other members of a group write arbitrary data. The real member must get an
// error or a result, which may be wrong.
func FuzzOthers(f *testing.F) {
	rng := data(1, 1, 1000)
	for which := range operations {
		for _, shape := range []uint8{0, 1, 2, 3} {
			f.Add(uint8(which), shape, []byte{})
			f.Add(uint8(which), shape, make([]byte, 40*scriptBytes))
			f.Add(uint8(which), shape, rng[which*scriptBytes:][:60*scriptBytes])
			most := make([]byte, 0, 60*scriptBytes)
			for range 60 {
				most = append(most, 1<<6, 0, 0, 0xff, 0xff, 0, 0, 0, 0)
			}
			f.Add(uint8(which), shape, most)
		}
	}
	f.Fuzz(func(t *testing.T, which, shape uint8, script []byte) {
		const size = 3
		op := operations[int(which)%len(operations)]
		if op.name == "allreduce pair" {
			return // the operation is for two members, not three
		}
		rank := int(shape>>2) % size
		g, err := node.New(node.Config{
			Rank: rank, Size: size, Crowded: shape&1 != 0, Segment: int(shape&2) << 9,
			Open: func(bytes int) (node.Memory, error) {
				m := &ghost{script: &script}
				for range size {
					m.parts = append(m.parts, make([]byte, bytes))
				}
				return m, nil
			},
			Reader: readerFunc(func(_ node.Process, _ uint64, dst []byte) error { clear(dst); return nil }),
		})
		require.NoError(t, err)
		nobody := newRoom(size)
		nobody.leave() // so that no message arrives
		peers.Store(g, nobody.peer(rank, &heap{room: nobody}))
		defer peers.Delete(g)
		var trail node.Trail
		for round := range 5 {
			c := call{round, size, 1 + 100*round, round % size}
			if !op.fits(g, c) {
				continue
			}
			said := node.Call{What: uint64(which), Bytes: uint64(c.n)}
			g.Enter(said, trail.Follow(said))
			if _, _, err := op.run(g, rank, c); err != nil {
				return
			}
		}
	})
}
