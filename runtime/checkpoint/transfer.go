package checkpoint

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/runtime"
)

// pieceBytes is how much of an image is a message: memory for it grows with what has arrived, because
// the length that another rank says may be any.
const pieceBytes = 32 << 20

// send begins to send an image to a member: its length, and pieces.
func send(c *runtime.Comm, to int, image []byte) []runtime.Request {
	requests := []runtime.Request{runtime.Isend(c, []int{len(image)}, to, tagHead)}
	for piece := range slices.Chunk(image, pieceBytes) {
		requests = append(requests, runtime.Isend(c, piece, to, tagImage))
	}
	return requests
}

// receive takes the copy of a rank at a step from a member.
func (d *copied) receive(c *runtime.Comm, from, rank, step int) error {
	d.step, d.committed = none, false
	length := make([]int, 1)
	if _, err := runtime.Recv(c, length, from, tagHead); err != nil {
		return err
	}
	if length[0] < imageHeader {
		return fmt.Errorf("%w: %d bytes of rank %d", ErrCorrupt, length[0], rank)
	}
	d.image = d.image[:0]
	for left := length[0]; left > 0; {
		n, at := min(left, pieceBytes), len(d.image)
		d.image = slices.Grow(d.image, n)[:at+n]
		status, err := runtime.Recv(c, d.image[at:], from, tagImage)
		if err != nil {
			return err
		}
		if status.Bytes != n {
			return fmt.Errorf("%w: a piece of %d bytes of rank %d, not of %d", ErrCorrupt, status.Bytes, rank, n)
		}
		left -= n
	}
	return d.verify(c.Size(), rank, step)
}
