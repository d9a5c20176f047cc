package transporttest

import (
	"fmt"
	"hash/maphash"

	"github.com/gorun-hpc/gorun/transport"
)

// rubbish is the value of the bytes that the fake writes into memory that the caller must not read.
const rubbish = 0xdb

// seed is the seed of the checksums that detect a change of an operation's buffer.
var seed = maphash.MakeSeed()

// operation is one Get, Put or FetchAdd in progress.
type operation struct {
	name   string
	access transport.Access
	issuer *fakeTransport
	peer   int
	// buffer is the destination of a Get or the source of a Put. sum is the checksum of its bytes when the
	// operation began. Until the operation ends, only the transport may change the bytes.
	buffer []byte
	sum    uint64
	key    transport.Key
	token  uint64
	delta  uint64

	// due is the number of the issuer's first Poll in which the operation may complete.
	due uint64
	// alone is true if the operation makes progress without a Poll of its target.
	alone bool
	// fails is true if the fake will make the operation fail.
	fails bool
	// carried is true when the operation has been executed, with the results value and err. done is true from
	// the moment at which its completion is passed to the handler.
	carried, done bool
	value         uint64
	err           error
}

// begin records the checksum of the buffer, so that carry can detect a change by the caller. For a Get, begin
// first overwrites the destination with rubbish.
func (op *operation) begin() {
	if op.access == transport.AccessRead {
		spoil(op.buffer)
	}
	op.sum = maphash.Bytes(seed, op.buffer)
}

// carry executes the operation on the target's memory. A Get or Put that is to fail transfers only
// half of its bytes, and a FetchAdd that is to fail changes nothing. The caller holds the fabric's
// lock.
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
		err = issuer.fail(op.name, op.peer, errFault)
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

// finish records the result. A Poll of the issuer delivers it to the handler.
func (op *operation) finish(value uint64, err error) { op.carried, op.value, op.err = true, value, err }

// spoil sets every byte of b to rubbish.
func spoil(b []byte) {
	for i := range b {
		b[i] = rubbish
	}
}
