package checkpoint

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/runtime"
)

// windowBlocks is how many blocks are under way to a keeper.
const windowBlocks = 8

// rooms are memory for blocks that are under way, and the one that is compressed meanwhile.
type rooms [windowBlocks + 1][]byte

// stream makes the packed form of an image, of which put takes one block after the other: the header, the
// blocks, and the table with the checksum. put may keep a block until it was called windowBlocks times
// again.
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

// carrier sends blocks to a member, some at a time.
type carrier struct {
	comm *runtime.Comm
	to   int
	way  *way
	full func() // is called when a block had to be waited for
	// requests and bytes are those of the last blocks, count how many there were.
	requests [windowBlocks]runtime.Request
	bytes    [windowBlocks]int
	count    int
}

// put begins to send a block. The one before it by windowBlocks has arrived then.
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

// end waits for a block.
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

// deliver sends the packed form of this rank's image to its keeper on another node.
func (s *Store) deliver(c *runtime.Comm, to int, image []byte, step int) error {
	head := runtime.Isend(c, []int{len(image), formPacked}, to, tagHead)
	k := carrier{comm: c, to: to, way: &s.way, full: s.sent.Block}
	s.way.idle()
	err := stream(&s.sent, &s.rooms, packedHead(step, c.Size(), c.Rank(), len(image)), image, k.put)
	return cmpOr(err, runtime.WaitAll(append(k.requests[:], head)))
}

// forward begins to send a packed image that was received as such.
func forward(c *runtime.Comm, to int, image []byte) ([]runtime.Request, error) {
	p, err := parsePacked(image)
	if err != nil {
		return nil, err
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

// receivePacked takes the packed form of an image of a length, of which another rank says that it has sent
// it. Memory grows with what has arrived.
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

// receiveBlock takes a message of at most n bytes. expected is how many bytes of the image may follow it.
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
