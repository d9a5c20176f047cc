package uverbs

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fakeKernel answers commands from a table and maps ordinary memory.
type fakeKernel struct {
	// answers contains the answer to each command. cut contains, for each command, the number of bytes of the
	// answer that are written. If a command has no number, the whole answer is written.
	answers map[uint32][]byte
	cut     map[uint32]int
	refused map[uint32]error
	// queues contains the memory that mapQueue returns, by offset.
	queues  map[int64][]byte
	mapped  int
	objects int // number of objects that were made and not destroyed
	seen    [][]byte
	rings   int
	closed  bool
}

func (k *fakeKernel) command(in, out []byte) error {
	h := at[header](in, 0)
	k.seen = append(k.seen, append([]byte(nil), in...))
	if int(h.inWords)*4 != len(in) || int(h.outWords)*4 != len(out) {
		return unix.EINVAL
	}
	if err := k.refused[h.command]; err != nil {
		return err
	}
	answer := k.answers[h.command]
	if cut, ok := k.cut[h.command]; ok {
		answer = answer[:cut]
	}
	copy(out, answer)
	switch h.command {
	case cmdCreateCQ, cmdCreateQP, cmdCreateSRQ:
		k.objects++
	case cmdDestroyCQ, cmdDestroyQP, cmdDestroySRQ:
		k.objects--
	}
	return nil
}

func (k *fakeKernel) ring(in []byte) error {
	k.rings++
	if at[header](in, 0).command != cmdPostSend || at[doorbellRequest](in, 0).response == 0 {
		return unix.EINVAL
	}
	return k.refused[cmdPostSend]
}

func (k *fakeKernel) mapQueue(offset int64, length int) ([]byte, error) {
	b := k.queues[offset]
	if length > (len(b)+4095)/4096*4096 || len(b) == 0 {
		return nil, unix.EINVAL
	}
	k.mapped++
	return b[:min(length, len(b))], nil
}

func (k *fakeKernel) unmap([]byte) error {
	k.mapped--
	return nil
}

func (k *fakeKernel) close() error {
	k.closed = true
	return nil
}

// words encodes a part of an answer.
func words(list ...uint32) []byte {
	var b []byte
	for _, w := range list {
		b = binary.NativeEndian.AppendUint32(b, w)
	}
	return b
}

const (
	cqOffset  = 0x1000
	sqOffset  = 0x10000
	rqOffset  = 0x20000
	srqOffset = 0x30000
)

// fakeEntries is the capacity of all queues of a fake device. A queue of siw uses all of its four entries. A
// queue of rxe also has four entries, but one of them stays free.
const fakeEntries = 4

// fakeDevice returns a context on a fake kernel with queues of four entries.
func fakeDevice(d driver) (*Context, *fakeKernel) {
	k := &fakeKernel{answers: map[uint32][]byte{}, cut: map[uint32]int{}, refused: map[uint32]error{}, queues: map[int64][]byte{}}
	k.answers[cmdAllocPD] = words(9)
	k.answers[cmdCreateChannel] = words(99)
	k.answers[cmdRegMR] = words(3, 0x1100, 0x1100, 0x1100, 0)
	k.answers[cmdCreateCQ] = words(4, fakeEntries)
	k.answers[cmdCreateQP] = words(5, 1234, 3, 3, 2, 2, 64, 0)
	k.answers[cmdCreateSRQ] = words(6, fakeEntries, 2, 0)
	if d == (siw{}) {
		k.add(cmdCreateCQ, 1, fakeEntries, cqOffset, 0)
		k.add(cmdCreateQP, 1, fakeEntries, fakeEntries, 0, sqOffset, 0, rqOffset, 0)
		k.add(cmdCreateSRQ, fakeEntries, 0, srqOffset, 0)
		k.queues[cqOffset] = make([]byte, fakeEntries*32+8)
		k.queues[sqOffset] = make([]byte, fakeEntries*120)
		k.queues[rqOffset] = make([]byte, fakeEntries*112)
		k.queues[srqOffset] = make([]byte, fakeEntries*112)
	} else {
		k.add(cmdCreateCQ, k.rxeQueue(cqOffset, 6)...)
		k.add(cmdCreateQP, append(k.rxeQueue(rqOffset, 7), k.rxeQueue(sqOffset, 9)...)...)
		k.add(cmdCreateSRQ, append(k.rxeQueue(srqOffset, 7), 8, 0)...)
	}
	return &Context{Device: Device{Name: "fake0"}, kernel: k, driver: d, events: -1}, k
}

// add appends a driver's part to an answer.
func (k *fakeKernel) add(command uint32, list ...uint32) {
	k.answers[command] = append(k.answers[command], words(list...)...)
}

// rxeQueue makes a queue of four elements and returns its struct mminfo.
func (k *fakeKernel) rxeQueue(offset int64, shift uint32) []uint32 {
	b := make([]byte, rxeHeader+fakeEntries<<shift)
	i := at[rxeIndices](b, 0)
	i.log2Size, i.mask = shift, fakeEntries-1
	k.queues[offset] = b
	return []uint32{uint32(offset), 0, uint32((len(b) + 4095) / 4096 * 4096), 0}
}

// fakes contains the drivers of the fake devices.
var fakes = map[string]driver{"siw": siw{}, "rxe": rxe{}}

// eachDriver runs a test with a fake device of each driver.
func eachDriver(t *testing.T, test func(t *testing.T, c *Context, k *fakeKernel)) {
	t.Helper()
	for name, d := range fakes {
		t.Run(name, func(t *testing.T) {
			c, k := fakeDevice(d)
			test(t, c, k)
		})
	}
}

// fakePair makes a completion queue and a queue pair.
func fakePair(t *testing.T, c *Context) (*CompletionQueue, *QueuePair) {
	t.Helper()
	d, err := c.NewProtectionDomain()
	require.NoError(t, err)
	cq, err := c.NewCompletionQueue(3, nil)
	require.NoError(t, err)
	q, err := c.NewQueuePair(&QueuePairConfig{
		Domain: d, Sends: cq, Receives: cq, Capacity: Capacity{Sends: 3, Receives: 3, SendSegments: 2, ReceiveSegments: 2, Inline: 64},
	})
	require.NoError(t, err)
	return cq, q
}

// hardware is the device's side of the queues of a fake device.
type hardware struct {
	k       *fakeKernel
	isSIW   bool
	sent    int
	taken   int
	written int
}

func newHardware(c *Context, k *fakeKernel) *hardware {
	return &hardware{k: k, isSIW: c.driver == siw{}}
}

// takeSend takes the oldest request. It returns the ID and the segments, or the bytes of an inline request.
func (h *hardware) takeSend(t *testing.T, inline bool) (id uint64, segments []siwSegment, data []byte) {
	t.Helper()
	b := h.k.queues[sqOffset]
	if h.isSIW {
		e := at[siwSend](b, h.sent%fakeEntries*120)
		h.sent++
		require.NotZero(t, e.control&siwValid)
		n := e.control >> siwSegments & 0xff
		require.Equal(t, inline, e.control&siwInline != 0)
		if inline {
			data = append(data, siwInlineRoom(e)[:e.segments[0].length]...)
		}
		segments = append(segments, e.segments[:n]...)
		e.control &^= siwFlags
		return e.id, segments, data
	}
	i := at[rxeIndices](b, 0)
	require.NotEqual(t, i.producer, i.consumer)
	element := b[rxeHeader+i.consumer<<9:][:1<<9]
	e := at[rxeSend](element, 0)
	if inline {
		data = append(data, element[208:208+e.data.length]...)
	}
	for s := range int(e.data.segments) {
		segments = append(segments, siwSegment(*at[rxeSegment](element, 208+16*s)))
	}
	i.consumer = (i.consumer + 1) & i.mask
	return e.id, segments, data
}

// takeReceive takes the oldest receive of a queue.
func (h *hardware) takeReceive(t *testing.T, offset int64) (id uint64, segments []siwSegment) {
	t.Helper()
	b := h.k.queues[offset]
	if h.isSIW {
		e := at[siwReceive](b, h.taken%fakeEntries*112)
		h.taken++
		require.NotZero(t, e.control&siwValid)
		segments = append(segments, e.segments[:e.control>>siwSegments&0xff]...)
		e.control &^= siwFlags
		return e.id, segments
	}
	i := at[rxeIndices](b, 0)
	require.NotEqual(t, i.producer, i.consumer)
	element := b[rxeHeader+i.consumer<<7:][:1<<7]
	e := at[rxeReceive](element, 0)
	for s := range int(e.data.segments) {
		segments = append(segments, siwSegment(*at[rxeSegment](element, 40+16*s)))
	}
	i.consumer = (i.consumer + 1) & i.mask
	return e.id, segments
}

// complete writes a completion to the completion queue and returns true. It returns false if the queue has
// no room. status is a value of the device's own enumeration.
func (h *hardware) complete(id uint64, status uint32, length uint32) bool {
	b := h.k.queues[cqOffset]
	if h.isSIW {
		e := at[siwCompletion](b, h.written%fakeEntries*32)
		if e.control != 0 {
			return false
		}
		h.written++
		*e = siwCompletion{id: id, control: siwValid | siwOpReceive<<siwResultOpcode | status<<siwResultStatus, bytes: length, pair: 1234}
		return true
	}
	i := at[rxeIndices](b, 0)
	if (i.producer+1-i.consumer)&i.mask == 0 {
		return false
	}
	*at[rxeCompletion](b, int(rxeHeader+i.producer<<6)) = rxeCompletion{id: id, status: status, bytes: length, pair: 1234, opcode: 128}
	i.producer = (i.producer + 1) & i.mask
	return true
}
