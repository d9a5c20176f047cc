package checkpoint

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/runtime"
)

// pieceBytes is the length of the messages in which a plain image is sent. The length that the sender
// announces is not trusted, so the receiver allocates memory for one message at a time.
const pieceBytes = 32 << 20

// Forms in which images are sent. A head message precedes each image. It has headWords integers: the
// length of the image before packing, and the form.
const (
	formPlain = iota
	formPacked
	headWords = iota
)

// send starts to send an image to a member in the plain form: its head, then its pieces.
func send(c *runtime.Comm, to int, image []byte) []runtime.Request {
	requests := []runtime.Request{runtime.Isend(c, []int{len(image), formPlain}, to, tagHead)}
	for piece := range slices.Chunk(image, pieceBytes) {
		requests = append(requests, runtime.Isend(c, piece, to, tagImage))
	}
	return requests
}

// receive receives, from a member, the copy of a rank at a step, in the plain or the packed form, and
// verifies the copy.
func (d *copied) receive(c *runtime.Comm, from, rank, step int) error {
	d.step, d.committed = none, false
	head := make([]int, headWords)
	status, err := runtime.Recv(c, head, from, tagHead)
	if err != nil {
		return err
	}
	length, form := head[0], head[1]
	if status.Count() != headWords || length < imageHeader || form != formPlain && form != formPacked {
		return fmt.Errorf("%w: %d bytes of rank %d in form %d", ErrCorrupt, length, rank, form)
	}
	if form == formPacked {
		err = d.receivePacked(c, from, length)
	} else {
		err = d.receivePlain(c, from, rank, length)
	}
	if err != nil {
		return err
	}
	return d.verify(c.Size(), rank, step)
}

// obtain is receive for a Save or a Restore. If it fails, it breaks c. Otherwise the sender could wait for ever until
// this member receives the remaining messages.
func (d *copied) obtain(c *runtime.Comm, from, rank, step int) error {
	err := d.receive(c, from, rank, step)
	if err != nil {
		c.Break(err)
	}
	return err
}

// receivePlain receives an image of length bytes in the plain form.
func (d *copied) receivePlain(c *runtime.Comm, from, rank, length int) error {
	d.image = d.image[:0]
	for left := length; left > 0; {
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
	return nil
}
