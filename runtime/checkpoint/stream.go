package checkpoint

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/runtime"
)

// windowBlocks is the maximum number of blocks in flight to a keeper.
const windowBlocks = 8

// rooms is memory for compressed blocks: for the blocks in flight and for the block that is being
// compressed.
type rooms [windowBlocks + 1][]byte

// stream packs an image. It calls put with the pieces of the packed form in order: the header, each
// block, and the table with the checksum. After windowBlocks further calls of put, stream reuses
// the memory of the argument. Until then put may use it.
func stream(p *packer, r *rooms, header, image []byte, put func(block []byte) error) error {
	var table []byte
	sum := uint32(0)
	putSummed := func(b []byte) error {
		sum = crc32.Update(sum, castagnoli, b)
		return put(b)
	}
	if err := putSummed(header); err != nil {
		return err
	}
	next := 0
	for block := range slices.Chunk(image, blockBytes) {
		packed := p.pack(block, &r[next])
		next = (next + 1) % len(r)
		table = binary.LittleEndian.AppendUint32(table, uint32(len(packed)))
		if err := putSummed(packed); err != nil {
			return err
		}
	}
	return put(binary.LittleEndian.AppendUint32(table, crc32.Update(sum, castagnoli, table)))
}

// carrier sends blocks to a member, with at most windowBlocks in flight.
type carrier struct {
	comm *runtime.Comm
	to   int
	way  *way
	full func() // is called when put has to wait for a block because the window is full
	// requests and bytes are the requests and the lengths of the last windowBlocks blocks. count is
	// the number of all blocks so far.
	requests [windowBlocks]runtime.Request
	bytes    [windowBlocks]int
	count    int
}

// put starts to send a block. Before that, it waits until the block that was put windowBlocks calls ago is sent.
func (k *carrier) put(block []byte) error {
	i := k.count % windowBlocks
	if k.count > 0 && k.requests[(k.count-1)%windowBlocks].Done() {
		k.way.idle()
	}
	if err := k.end(i); err != nil {
		return err
	}
	k.requests[i], k.bytes[i] = runtime.Isend(k.comm, block, k.to, tagImage), len(block)
	k.count++
	return nil
}

// end waits until the block in slot i of requests is sent, and reports the end of the send to k.way.
// If the slot has no block, end does nothing.
func (k *carrier) end(i int) error {
	if k.count < windowBlocks {
		return nil
	}
	waited := !k.requests[i].Done()
	if waited {
		k.full()
	}
	_, err := k.requests[i].Wait()
	k.way.ended(k.bytes[i], time.Now(), waited)
	return err
}

// deliver packs this rank's image, sends it to its keeper on another node, and waits until it is sent.
func (s *Store) deliver(c *runtime.Comm, to int, image []byte, step int) error {
	head := runtime.Isend(c, []int{len(image), formPacked}, to, tagHead)
	k := carrier{comm: c, to: to, way: &s.way, full: s.sent.Block}
	s.way.idle()
	err := stream(&s.sent, &s.rooms, packedHead(step, c.Size(), c.Rank(), len(image)), image, k.put)
	return cmp.Or(err, runtime.WaitAll(append(k.requests[:], head)))
}

// forward starts to send an image that this rank keeps in packed form, without packing it again. If the image is
// corrupt, it sends a head that the receiver refuses.
func forward(c *runtime.Comm, to int, image []byte) ([]runtime.Request, error) {
	p, err := parsePacked(image)
	if err != nil {
		return []runtime.Request{runtime.Isend(c, []int{0, formPacked}, to, tagHead)}, err
	}
	requests := []runtime.Request{
		runtime.Isend(c, []int{int(p.length), formPacked}, to, tagHead),
		runtime.Isend(c, p.head, to, tagImage),
	}
	err = p.each(func(block []byte, _ int) error {
		requests = append(requests, runtime.Isend(c, block, to, tagImage))
		return nil
	})
	return append(requests, runtime.Isend(c, image[packedHeader+len(p.blocks):], to, tagImage)), err
}

// receivePacked receives the packed form of an image of length bytes. The sender has announced
// length. Because length is not trusted, memory is allocated only as data arrives.
func (d *copied) receivePacked(c *runtime.Comm, from, length int) error {
	d.image = d.image[:0]
	if err := d.receiveBlock(c, from, packedHeader, 0); err != nil {
		return err
	}
	for left := length; left > 0; left -= min(left, blockBytes) {
		if err := d.receiveBlock(c, from, min(left, blockBytes), left); err != nil {
			return err
		}
	}
	blocks := int(blocksOf(uint64(length)))
	return d.receiveBlock(c, from, blocks*entryBytes+sumBytes, 0)
}

// receiveBlock receives a message of at most n bytes and appends it to d.image. For a block, expected is
// the number of bytes of the unpacked image in this block and in the blocks that follow it. For any other
// message, expected is 0. expected limits how much memory is allocated in advance.
func (d *copied) receiveBlock(c *runtime.Comm, from, n, expected int) error {
	at := len(d.image)
	if cap(d.image)-at < n {
		d.image = slices.Grow(d.image, max(n, min(at, expected)))
	}
	status, err := runtime.Recv(c, d.image[at:at+n], from, tagImage)
	if err == nil {
		d.image = d.image[:at+status.Bytes]
	}
	return err
}
