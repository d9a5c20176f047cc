package checkpoint

import (
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/gorun-hpc/gorun/internal/packing"
)

// packMin is the shortest block in bytes that may be compressed.
const packMin = 1 << 10

// wayLimits are those of the way to the keeper, fileLimits those of files, which get shorter also where
// the disk is fast.
var (
	wayLimits  = packing.Limits{Min: packMin, First: 1 << 20, Most: 64 << 20, Packed: 64 << 20}
	fileLimits = packing.Limits{Min: packMin, First: 1 << 20, Most: 64 << 20, Packed: 64 << 20, Enough: 4}
)

// packer compresses the blocks that go one way, where that pays. Except for the counters, one goroutine uses
// it.
type packer struct {
	packing.Decider
	look func() packing.Pace
	// from and to count the bytes of images, and those of the blocks that they became.
	from, to atomic.Int64
}

// pack returns a block of an image or, if that pays, its compressed form in room.
func (p *packer) pack(block []byte, room *[]byte) []byte {
	packed := p.packed(block, room)
	if packed == nil {
		packed = block
	}
	p.from.Add(int64(len(block)))
	p.to.Add(int64(len(packed)))
	return packed
}

// packed returns the compressed form of a block, nil if that does not pay.
func (p *packer) packed(block []byte, room *[]byte) []byte {
	if !p.Wants(len(block), p.look) {
		return nil
	}
	if !p.Promises(block) {
		return nil
	}
	if *room == nil {
		*room = make([]byte, s2.MaxEncodedLen(blockBytes))
	}
	return p.try(block, *room)
}

// try compresses bytes, and returns nil if that does not pay.
func (p *packer) try(b, room []byte) []byte {
	began := time.Now()
	packed := s2.Encode(room, b)
	if !p.Judge(len(b), len(packed), time.Since(began)) {
		return nil
	}
	return packed
}
