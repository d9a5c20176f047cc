package transporttest

import (
	"fmt"
	"hash/maphash"

	"github.com/gorun-hpc/gorun/transport"
)

// rubbish is what the fake writes into memory that must not be read.
const rubbish = 0xdb

// seed is that of the sums by which changed buffers are found.
var seed = maphash.MakeSeed()

// operation is one Get, Put or FetchAdd under way.
type operation struct {
	name   string
	access transport.Access
	issuer *fakeTransport
	peer   int
	// buffer is the destination of a Get or the source of a Put; sum is that of
	// its bytes when the operation began, since only the transport may change them.
	buffer []byte
	sum    uint64
	key    transport.Key
	token  uint64
	delta  uint64

	// due is the issuer's poll at which it may complete.
	due uint64
	// alone says that it needs no Poll of its target.
	alone bool
	// fails says that it will be made to fail.
	fails bool
	// carried says that it was carried out, with value and err; done that its
	// completion was handed over.
	carried, done bool
	value         uint64
	err           error
}

// begin marks the buffer so that a change by the caller can be seen.
func (op *operation) begin() {
	if op.access == transport.AccessRead {
		spoil(op.buffer)
	}
	op.sum = maphash.Bytes(seed, op.buffer)
}

// carry does what was asked of the target's memory. The fabric's lock is held.
func (op *operation) carry(target *fakeTransport) {
	issuer := op.issuer
	if maphash.Bytes(seed, op.buffer) != op.sum {
		panic(fmt.Sprintf("transporttest: rank %d: the buffer of a %s was changed while it was under way", issuer.rank, op.name))
	}
	n := len(op.buffer)
	if op.access == transport.AccessAtomic {
		n = wordBytes
	}
	memory, err := target.slice(op.key, n, op.access)
	if err != nil {
		op.finish(0, issuer.fail(op.name, op.peer, err))
		return
	}
	if op.fails {
		n /= 2
		memory = memory[:n]
		err = issuer.fail(op.name, op.peer, issuer.fabric.options.FailError)
	}
	var value uint64
	switch {
	case op.access == transport.AccessRead:
		copy(op.buffer, memory)
	case op.access == transport.AccessWrite:
		copy(memory, op.buffer)
	case !op.fails:
		var aligned bool
		if value, aligned = addWord(memory, op.delta); !aligned {
			err = issuer.fail(op.name, op.peer, transport.ErrBadKey)
		}
	}
	op.finish(value, err)
}

// finish notes the outcome; the issuer's Poll hands it over.
func (op *operation) finish(value uint64, err error) { op.carried, op.value, op.err = true, value, err }

// spoil makes every byte of b rubbish.
func spoil(b []byte) {
	for i := range b {
		b[i] = rubbish
	}
}
