package iwarp

import (
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/gorun-hpc/gorun/internal/packing"
)

// packLimits are those of a connection.
var packLimits = packing.Limits{Min: packMin, First: 256 << 10, Most: lookMost, Packed: 4 << 20}

const (
	// packMin is the payload of a segment in bytes from which it may be compressed.
	packMin = 1024
	// lookMost is the most payload in bytes between two looks at a connection.
	lookMost = 64 << 20
)

// Packing says whether payload is compressed.
type Packing = packing.Mode

const (
	// PackAuto compresses where the link is slower than that takes, and the payload gets
	// shorter by it.
	PackAuto = packing.Auto
	// PackNever sends payload as it is. What comes compressed is taken.
	PackNever = packing.Never
	// PackAlways compresses whatever gets shorter by it, for tests.
	PackAlways = packing.Always
)

// packer compresses the segments of one connection: on links that are slower than that takes, and as
// long as it makes the payload shorter.
type packer struct {
	packing.Decider
	// memory holds what the batch under way has of compressed payload, whole gathers the
	// pieces of a payload.
	memory, whole []byte
}

func newPacker(mode Packing) packer { return packer{Decider: packing.New(mode, packLimits)} }

// judge is Decider.Judge. A connection whose payload goes as it is keeps no memory.
func (k *packer) judge(n, packed int, took time.Duration) bool {
	worth := k.Judge(n, packed, took)
	if !k.On() {
		k.memory, k.whole = nil, nil
	}
	return worth
}

// promises is Decider.Promises in the same way.
func (k *packer) promises(payload []byte) bool {
	good := k.Promises(payload)
	if !good {
		k.memory, k.whole = nil, nil
	}
	return good
}

// wants is Decider.Wants in the same way.
func (k *packer) wants(n int, look func() packing.Pace) bool {
	wants := k.Wants(n, look)
	if !wants && !k.On() {
		k.memory, k.whole = nil, nil
	}
	return wants
}

// pack compresses a payload behind what the batch has. What it returns is valid until release.
func (k *packer) pack(payload []byte) []byte {
	if k.memory == nil {
		k.memory = make([]byte, 0, batchMax+2*s2.MaxEncodedLen(kinULPDU))
	}
	at := len(k.memory)
	room := k.memory[at:cap(k.memory)]
	if len(room) < s2.MaxEncodedLen(len(payload)) {
		return nil
	}
	return s2.Encode(room, payload)
}

// keep keeps what pack has returned until release.
func (k *packer) keep(packed []byte) { k.memory = k.memory[:len(k.memory)+len(packed)] }

// release lets go of the payload of a batch that was written.
func (k *packer) release() { k.memory = k.memory[:0] }
