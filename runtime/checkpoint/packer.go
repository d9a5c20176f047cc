package checkpoint

import (
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/gorun-hpc/gorun/internal/packing"
)

// packMin is the shortest block in bytes that may be compressed.
const packMin = 1 << 10

// wayLimits are the limits for copies that are sent to a keeper on another node. fileLimits are the
// limits for files. Because of Enough, a block of a file that becomes four times shorter is compressed
// even if the disk is fast.
var (
	wayLimits  = packing.Limits{Min: packMin, First: 1 << 20, Most: 64 << 20, Packed: 64 << 20}
	fileLimits = packing.Limits{Min: packMin, First: 1 << 20, Most: 64 << 20, Packed: 64 << 20, Enough: 4}
)

// packer compresses the blocks for one destination, which is the keeper or the disk, if compression
// pays (see packing.Decider). Only one goroutine at a time may use a packer; other goroutines may
// read only the counters.
type packer struct {
	packing.Decider
	look func() packing.Pace
	// The counter from has the bytes of images before compression. The counter to has the bytes of the
	// blocks after compression.
	from, to atomic.Int64
}

// pack returns the compressed form of a block of an image if compression pays. Otherwise it returns
// the block itself. The compressed form is in the memory of *room. If *room is nil, packed allocates
// it.
func (p *packer) pack(block []byte, room *[]byte) []byte {
	packed := p.packed(block, room)
	if packed == nil {
		packed = block
	}
	p.from.Add(int64(len(block)))
	p.to.Add(int64(len(packed)))
	return packed
}

// packed returns the compressed form of a block in room, or nil if compression does not pay.
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

// try compresses b into room and returns the result, or nil if compression did not pay.
func (p *packer) try(b, room []byte) []byte {
	began := time.Now()
	packed := s2.Encode(room, b)
	if !p.Judge(len(b), len(packed), time.Since(began)) {
		return nil
	}
	return packed
}
