package iwarp

import (
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/gorun-hpc/gorun/internal/packing"
)

// packLimits contains the limits, in bytes, of the packing.Decider of a connection.
var packLimits = packing.Limits{Min: packMin, First: 256 << 10, Most: lookMost, Packed: 4 << 20}

const (
	// packMin is the minimum length in bytes of a payload that is compressed.
	packMin = 1024
	// lookMost bounds the number of bytes of payload after which TCP_INFO is read again while payload is
	// sent uncompressed. If the send buffer has not been full since the last read, TCP_INFO is not read.
	lookMost = 64 << 20
)

// Packing selects whether payload is compressed.
type Packing = packing.Mode

const (
	// PackAuto compresses payload if compression shortens it to 7/8 or less and takes less time than
	// it saves on the link.
	PackAuto = packing.Auto
	// PackNever sends all payload uncompressed. Compressed payload from the peer is accepted.
	PackNever = packing.Never
	// PackAlways compresses all payload of at least packMin bytes that compression shortens to 7/8 or
	// less. It is for tests.
	PackAlways = packing.Always
)

// packer compresses the payload of the segments of one connection. Its Decider decides which
// payload is compressed.
type packer struct {
	packing.Decider
	// memory holds the compressed payload of the current batch. whole gathers a payload that lies
	// in several pieces of memory.
	memory, whole []byte
}

func newPacker(mode Packing) packer { return packer{Decider: packing.New(mode, packLimits)} }

// judge calls Decider.Judge, which decides whether to send a compressed piece. If the Decider
// decides to send payload uncompressed, judge frees the packer's memory.
func (k *packer) judge(n, packed int, took time.Duration) bool {
	worth := k.Judge(n, packed, took)
	if !k.On() {
		k.memory, k.whole = nil, nil
	}
	return worth
}

// promises calls Decider.Promises, which compresses a sample of the payload unless the Decider is on.
// If the result is false, promises frees the packer's memory.
func (k *packer) promises(payload []byte) bool {
	good := k.Promises(payload)
	if !good {
		k.memory, k.whole = nil, nil
	}
	return good
}

// wants calls Decider.Wants, which decides whether to try to compress a piece. If the Decider
// decides to send payload uncompressed, wants frees the packer's memory.
func (k *packer) wants(n int, look func() packing.Pace) bool {
	wants := k.Wants(n, look)
	if !wants && !k.On() {
		k.memory, k.whole = nil, nil
	}
	return wants
}

// pack compresses a payload into the field memory, after the compressed payload that the batch has
// already. It returns nil if the field memory has no room. The result is valid until the next call
// of pack. If the caller passes the result to keep, the result is valid until release is called.
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

// keep retains the result of the last call of pack until release is called.
func (k *packer) keep(packed []byte) { k.memory = k.memory[:len(k.memory)+len(packed)] }

// release discards the compressed payload of a batch. The batch has been written.
func (k *packer) release() { k.memory = k.memory[:0] }
