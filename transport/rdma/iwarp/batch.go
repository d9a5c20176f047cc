package iwarp

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

const (
	// bufferLength is the memory of a connection for headers, trailers and short
	// payloads of one system call.
	bufferLength = 8<<10 + aloneMax
	// copyMax is the longest payload that is copied behind its header rather than
	// written from where it lies: below, one more entry of a vector costs more than
	// the copy.
	copyMax = 2048
	// aloneMax is the same for the first payload of a batch if it is a Send's, which is
	// often the only one: a call with a single piece of memory saves more time than the
	// copy costs.
	aloneMax = 16 << 10
	// vectorMax bounds the entries of one system call.
	vectorMax = 64
	// batchMax is the number of bytes from which a batch is written: with half of it TCP is
	// slower, and with more, the payload whose checksum was just computed is no longer in
	// the cache.
	batchMax = 256 << 10
)

// batch is what one system call writes: FPDUs whose headers, trailers and short
// payloads lie in a buffer, and whose long payloads lie where the application has
// them. Memory is lent by the device, or allocated with the first use.
type batch struct {
	buffer []byte
	vector []unix.Iovec
	// sent is the index of the first entry that is not written yet, bytes the length
	// of all.
	sent, bytes int
	// started says that a byte of it was written: what is left has to follow.
	started bool
	// done are the requests that are done when it is written.
	done   []*provider.Request
	header unix.Msghdr
}

// keepMax is the number of connections up to which each keeps the memory of its batch.
// Of more, those with something to write share it.
const keepMax = 8

// batchMemory is the memory of a batch.
type batchMemory struct {
	buffer []byte
	vector []unix.Iovec
}

// lend gives a batch the memory that another batch has returned.
func (d *device) lend(b *batch) {
	last := len(d.spare) - 1
	if b.buffer == nil && last >= 0 {
		b.buffer, b.vector = d.spare[last].buffer, d.spare[last].vector
		d.spare[last] = batchMemory{}
		d.spare = d.spare[:last]
	}
}

// takeBack takes the memory of a batch that is written.
func (d *device) takeBack(b *batch) {
	if len(d.pairs) <= keepMax || b.buffer == nil || !b.empty() {
		return
	}
	b.reset()
	d.spare = append(d.spare, batchMemory{b.buffer, b.vector})
	b.buffer, b.vector = nil, nil
}

// empty reports whether there is nothing to write.
func (b *batch) empty() bool { return b.sent == len(b.vector) }

// reset empties it and lets go of what it referred to.
func (b *batch) reset() {
	clear(b.vector)
	clear(b.done)
	b.buffer, b.vector, b.done = b.buffer[:0], b.vector[:0], b.done[:0]
	b.sent, b.bytes, b.started = 0, 0, false
}

// open gives a batch memory if it has none.
func (b *batch) open() {
	if b.buffer == nil {
		b.buffer = make([]byte, 0, bufferLength)
		b.vector = make([]unix.Iovec, 0, vectorMax)
	}
}

// room reports whether one more FPDU with n bytes of payload in at most pieces
// pieces fits.
func (b *batch) room(n, pieces int, tagged bool) bool {
	b.open()
	need := line + mpa.HeaderLength + headMax + mpa.TrailerMax
	if b.copies(n, tagged) {
		need += n
	}
	return b.bytes < batchMax && len(b.buffer)+need <= cap(b.buffer) && len(b.vector)+pieces+2 <= cap(b.vector)
}

// copies reports whether a payload of n bytes is copied behind its header.
func (b *batch) copies(n int, tagged bool) bool {
	return n <= copyMax || n <= aloneMax && !tagged && len(b.vector) == 0
}

// align begins an empty buffer at an offset such that a long payload behind a header of n
// bytes has the same offset within a cache line as in its source.
func (b *batch) align(n int, place *placement) {
	if len(b.buffer) == 0 && len(place.piece) > copyMax {
		b.buffer = b.buffer[:linePhase(place.piece, mpa.HeaderLength+n)]
	}
}

// add appends n bytes at the end of the buffer to the vector.
func (b *batch) add(n int) {
	at := len(b.buffer) - n
	b.bytes += n
	if last := len(b.vector) - 1; last >= 0 && at > 0 {
		v := &b.vector[last]
		if end := bytesOf(v); &b.buffer[at-1] == &end[len(end)-1] {
			v.SetLen(len(end) + n) // it goes on where the last entry ends
			return
		}
	}
	b.refer(b.buffer[at:])
	b.bytes -= n
}

// refer appends memory of someone else to the vector.
func (b *batch) refer(p []byte) {
	var v unix.Iovec
	v.Base = &p[0]
	v.SetLen(len(p))
	b.vector = append(b.vector, v)
	b.bytes += len(p)
}

// fpdu appends an FPDU of a header of n bytes, already in the buffer behind room for
// its length field, and a payload of the given length from place.
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

// write writes what it can and reports whether that is all.
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

// drop drops the first n bytes, which were written.
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

// remainder returns a copy of what is left of a batch that was begun, nothing of one
// that was not.
func (b *batch) remainder() []byte {
	if !b.started {
		return nil
	}
	return b.rest()
}

// rest returns a copy of what is not written yet.
func (b *batch) rest() []byte {
	var rest []byte
	for i := b.sent; i < len(b.vector); i++ {
		rest = append(rest, bytesOf(&b.vector[i])...)
	}
	return rest
}

// detach copies what is left to memory of its own, if any of it lies in the given memory.
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
