package iwarp

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

const (
	// bufferLength is the length of the buffer of a batch, which contains the headers, trailers and
	// short payloads of one system call.
	bufferLength = 8<<10 + aloneMax
	// copyMax is the length of the longest payload that is copied into the buffer, directly after its
	// header. Longer payloads are written from the application's memory. For shorter payloads, another
	// entry in the I/O vector costs more than the copy.
	copyMax = 2048
	// aloneMax is used instead of copyMax for the first payload of a batch if the payload belongs to
	// a Send. The first payload is often the only payload of the batch. If it is copied, the system
	// call needs no I/O vector, because the whole batch is a single piece of memory. The saving
	// exceeds the cost of the copy.
	aloneMax = 16 << 10
	// vectorMax bounds the entries of the I/O vector of one system call.
	vectorMax = 64
	// batchMax is a length in bytes: a batch of batchMax or more bytes gets no more segments and is
	// written. If batchMax were half as large, TCP would be slower. If batchMax were larger, the
	// payload whose checksum was just computed would no longer be in the cache when the batch is
	// written.
	batchMax = 256 << 10
)

// batch contains the FPDUs that one system call writes. Their headers, trailers and short payloads
// are in a buffer. Their long payloads stay in the application's memory. The device lends the
// memory of the buffer and of the vector. If the device has no spare memory, the first use of the
// batch allocates memory.
type batch struct {
	buffer []byte
	vector []unix.Iovec
	// sent is the index of the first entry of vector that is not completely written. bytes is the
	// number of all bytes that were added, including written bytes.
	sent, bytes int
	// started reports whether a byte of the batch was written. If a byte was written, the rest has
	// to follow.
	started bool
	// done contains the requests that are complete when the batch is written.
	done   []*provider.Request
	header unix.Msghdr
}

// keepMax is a number of connections. If a device has at most keepMax connections, each of them
// keeps the memory of its batch. If a device has more connections, each batch returns its memory to
// the device when the batch is written.
const keepMax = 8

// batchMemory is the memory of the buffer and the vector of a batch.
type batchMemory struct {
	buffer []byte
	vector []unix.Iovec
}

// lend gives memory to a batch that has none. The memory comes from another batch, which has
// returned it to the device. If the device has no returned memory, lend does nothing.
func (d *device) lend(b *batch) {
	last := len(d.spare) - 1
	if b.buffer == nil && last >= 0 {
		b.buffer, b.vector = d.spare[last].buffer, d.spare[last].vector
		d.spare[last] = batchMemory{}
		d.spare = d.spare[:last]
	}
}

// takeBack takes back the memory of a batch that is written, if there are more than keepMax
// connections.
func (d *device) takeBack(b *batch) {
	if len(d.pairs) <= keepMax || b.buffer == nil || !b.empty() {
		return
	}
	b.reset()
	d.spare = append(d.spare, batchMemory{b.buffer, b.vector})
	b.buffer, b.vector = nil, nil
}

// empty reports whether nothing is left to be written.
func (b *batch) empty() bool { return b.sent == len(b.vector) }

// reset empties the batch and drops its references to memory and requests.
func (b *batch) reset() {
	clear(b.vector)
	clear(b.done)
	b.buffer, b.vector, b.done = b.buffer[:0], b.vector[:0], b.done[:0]
	b.sent, b.bytes, b.started = 0, 0, false
}

// open allocates memory for a batch that has no memory.
func (b *batch) open() {
	if b.buffer == nil {
		b.buffer = make([]byte, 0, bufferLength)
		b.vector = make([]unix.Iovec, 0, vectorMax)
	}
}

// room reports whether the batch has room for one more FPDU. The payload of the FPDU has n bytes.
// The argument pieces is the maximum number of pieces of memory that contain the payload.
func (b *batch) room(n, pieces int, tagged bool) bool {
	b.open()
	need := line + mpa.HeaderLength + headMax + mpa.TrailerMax
	if b.copies(n, tagged) {
		need += n
	}
	return b.bytes < batchMax && len(b.buffer)+need <= cap(b.buffer) && len(b.vector)+pieces+2 <= cap(b.vector)
}

// copies reports whether a payload of n bytes is copied into the buffer, directly after its header.
func (b *batch) copies(n int, tagged bool) bool {
	return n <= copyMax || n <= aloneMax && !tagged && len(b.vector) == 0
}

// align chooses the offset at which the first FPDU begins in an empty buffer. With this offset, a
// long payload after a DDP header of n bytes has the same offset within a cache line in the buffer as
// in its source.
func (b *batch) align(n int, place *placement) {
	if len(b.buffer) == 0 && len(place.piece) > copyMax {
		b.buffer = b.buffer[:linePhase(place.piece, mpa.HeaderLength+n)]
	}
}

// add appends the last n bytes of the buffer to the vector.
func (b *batch) add(n int) {
	at := len(b.buffer) - n
	b.bytes += n
	if last := len(b.vector) - 1; last >= 0 && at > 0 {
		v := &b.vector[last]
		if end := bytesOf(v); &b.buffer[at-1] == &end[len(end)-1] {
			v.SetLen(len(end) + n) // the n bytes follow the last entry in memory, so the last entry grows
			return
		}
	}
	b.refer(b.buffer[at:])
}

// refer appends memory p to the vector without a copy. p must not change until it is written.
func (b *batch) refer(p []byte) {
	var v unix.Iovec
	v.Base = &p[0]
	v.SetLen(len(p))
	b.vector = append(b.vector, v)
}

// fpdu appends an FPDU to the batch. At offset start, the buffer already contains room for the
// length field, followed by the DDP header. The buffer ends with this header. The argument payload is
// the length of the payload. fpdu takes the payload from the argument place.
func (b *batch) fpdu(start, payload int, place *placement, tagged, crc bool) {
	ulpdu := len(b.buffer) - start - mpa.HeaderLength + payload
	binary.BigEndian.PutUint16(b.buffer[start:], uint16(ulpdu))
	if b.copies(payload, tagged) {
		for payload > 0 {
			piece := place.next(payload)
			b.buffer = append(b.buffer, piece...)
			payload -= len(piece)
		}
		b.trailer(b.checksum(0, b.buffer[start:], crc), ulpdu, crc)
		b.add(len(b.buffer) - start)
		return
	}
	sum := b.checksum(0, b.buffer[start:], crc)
	b.add(len(b.buffer) - start)
	for payload > 0 {
		piece := place.next(payload)
		payload -= len(piece)
		sum = b.checksum(sum, piece, crc)
		b.refer(piece)
		b.bytes += len(piece)
	}
	at := len(b.buffer)
	b.trailer(sum, ulpdu, crc)
	b.add(len(b.buffer) - at)
}

func (b *batch) checksum(sum uint32, p []byte, on bool) uint32 {
	if on {
		sum = mpa.Checksum(sum, p)
	}
	return sum
}

func (b *batch) trailer(sum uint32, ulpdu int, on bool) {
	b.buffer = mpa.AppendTrailer(b.buffer, ulpdu, sum, on)
}

// write writes as much of the batch as the socket takes, and returns the number of written bytes.
func (b *batch) write(fd int) (n int, errno unix.Errno) {
	left := b.vector[b.sent:]
	if len(left) == 1 {
		n, errno = send(fd, left[0].Base, int(left[0].Len))
	} else {
		n, errno = sendVector(fd, &b.header, left)
	}
	if errno != 0 {
		return 0, errno
	}
	b.drop(n)
	return n, 0
}

// drop removes the first n bytes of the batch. These bytes were written to the socket or, with TLS,
// encrypted.
func (b *batch) drop(n int) {
	b.started = true
	for n > 0 {
		v := &b.vector[b.sent]
		if n < int(v.Len) {
			advance(v, n)
			break
		}
		n -= int(v.Len)
		b.sent++
	}
}

// remainder returns nil if no byte of the batch was written. Otherwise it returns a copy of the
// bytes that are left to be written.
func (b *batch) remainder() []byte {
	if !b.started {
		return nil
	}
	return b.rest()
}

// rest returns a copy of the bytes that are left to be written.
func (b *batch) rest() []byte {
	var rest []byte
	for i := b.sent; i < len(b.vector); i++ {
		rest = append(rest, bytesOf(&b.vector[i])...)
	}
	return rest
}

// detach makes the batch independent of memory that is about to be deregistered. If at least one
// unwritten byte of the batch lies in this memory, detach copies all unwritten bytes.
func (b *batch) detach(memory []byte) {
	for i := b.sent; i < len(b.vector); i++ {
		if !overlap(bytesOf(&b.vector[i]), memory) {
			continue
		}
		rest := b.rest()
		clear(b.vector)
		b.vector, b.sent = b.vector[:0], 0
		b.refer(rest)
		return
	}
}
