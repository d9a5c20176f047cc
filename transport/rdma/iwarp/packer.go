package iwarp

import (
	"time"

	"github.com/klauspost/compress/s2"
)

const (
	// packMin is the payload of a segment in bytes from which it may be compressed.
	packMin = 1024
	// lookFirst and lookMost are the payload in bytes between two looks at a connection whose
	// payload is sent as it is: twice as much after every look in vain.
	lookFirst, lookMost = 256 << 10, 64 << 20
	// lookPacked is the same for one whose payload is compressed.
	lookPacked = 4 << 20
	// vainMost is how many segments in turn may not be worth it before the connection sends
	// its payload as it is again.
	vainMost = 4
	// slowest is a rate in bytes per second at which no payload is worth the time of both
	// sides; a look at a faster link ends there.
	slowest = 1 << 30
)

// Packing says whether payload is compressed.
type Packing int

const (
	// PackAuto compresses where the link is slower than that takes, and the payload gets
	// shorter by it.
	PackAuto Packing = iota
	// PackNever sends payload as it is. What comes compressed is taken.
	PackNever
	// PackAlways compresses whatever gets shorter by it, for tests.
	PackAlways
)

// pace is what is known of the way to the peer.
type pace struct {
	rate  float64 // bytes per second that arrive there
	bound bool    // the link bounds it, and not what the peer or this side does
}

// packer decides for one connection whether segments are compressed: on links that are slower
// than that takes, and as long as it makes the payload shorter. It looks at the way to the
// peer after some payload, and then tries one segment.
type packer struct {
	mode Packing
	on   bool
	// next is the payload until the next look, wait what it was after the last one.
	next, wait int
	vain       int
	// blocked says that the socket was full since the last look.
	blocked bool
	rate    float64
	// memory holds what the batch under way has of compressed payload, whole gathers the
	// pieces of a payload.
	memory, whole []byte
}

func newPacker(mode Packing) packer {
	return packer{mode: mode, on: mode == PackAlways, next: lookFirst, wait: lookFirst}
}

// wants reports whether a segment of n bytes is to be tried. look is called where the
// way to the peer has to be looked at.
func (k *packer) wants(n int, look func() pace) bool {
	if k.mode != PackAuto || n < packMin {
		return k.mode == PackAlways && n >= packMin
	}
	if k.next -= n; k.next > 0 {
		return k.on
	}
	if !k.blocked && !k.on {
		k.next = lookFirst // as long as the socket takes all, nothing can be faster
		return false
	}
	k.blocked = false
	way := look()
	if !way.bound || way.rate >= slowest || way.rate <= 0 {
		k.stop()
		return false
	}
	k.rate, k.next = way.rate, lookPacked
	return true
}

// stop has the payload sent as it is until the next look.
func (k *packer) stop() {
	k.on, k.vain, k.memory, k.whole = false, 0, nil, nil
	k.next, k.wait = k.wait, min(2*k.wait, lookMost)
}

// judge says that n bytes became packed in the time that took, and reports whether they are to
// be sent so.
func (k *packer) judge(n, packed int, took time.Duration) bool {
	shorter := packed <= n-n/8
	if k.mode == PackAlways {
		return shorter
	}
	// The peer unpacks in about half of the time, and neither has it for the program.
	saved := time.Duration(float64(n-packed) / k.rate * float64(time.Second))
	if shorter && took+took/2 < saved {
		k.on, k.vain, k.wait = true, 0, lookFirst
		return true
	}
	if k.vain++; !k.on || k.vain >= vainMost {
		k.stop()
	}
	return shorter && k.on
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
