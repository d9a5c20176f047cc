package rdmacm_test

import (
	"encoding/binary"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
)

// These are the numbers of the commands in the kernel.
const (
	create  = 0
	destroy = 1
	connect = 6
	accept  = 8
	next    = 12
	query   = 19
)

// ucma simulates the kernel's connection manager.
type ucma struct {
	mu sync.Mutex
	// answers holds the answer to each command number, for all calls of the command.
	answers map[uint32][]byte
	// errors holds the error of each command number. An error takes precedence over an answer.
	errors map[uint32]error
	// events contains the events that are still to be returned, one for each call.
	events [][]byte
	// reading is called during the command that takes an event, after the event is taken. It may be
	// nil.
	reading func()
	// seen contains the commands that were carried out, except those that take events.
	seen   []rdmacm.Command
	last   uint32
	closed bool
	// quiet makes Ready return false.
	quiet bool
}

func newUcma() *ucma {
	return &ucma{answers: map[uint32][]byte{}, errors: map[uint32]error{}}
}

// Do implements rdmacm.Driver.
func (u *ucma) Do(c *rdmacm.Command) error {
	u.mu.Lock()
	reading := func() {}
	defer func() { reading() }()
	defer u.mu.Unlock()
	if c.Number != next {
		seen := *c
		seen.Body = append([]byte{}, c.Body...)
		u.seen = append(u.seen, seen)
	}
	switch err := u.errors[c.Number]; {
	case err != nil:
		return err
	case c.Number == next && len(u.events) == 0:
		return unix.EAGAIN
	case c.Number == next:
		copy(c.Memory, u.events[0])
		u.events = u.events[1:]
		if u.reading != nil {
			reading = u.reading
		}
	case u.answers[c.Number] != nil:
		copy(c.Memory, u.answers[c.Number])
	case c.Number == create:
		u.last++
		binary.NativeEndian.PutUint32(c.Memory, u.last)
	}
	return nil
}

// Ready implements rdmacm.Driver.
func (u *ucma) Ready() bool { return !u.quiet }

// Descriptor implements rdmacm.Driver.
func (u *ucma) Descriptor() int { return -1 }

// Close implements rdmacm.Driver.
func (u *ucma) Close() error {
	u.closed = true
	return nil
}

// commands returns the numbers of the commands in seen.
func (u *ucma) commands() []uint32 {
	var all []uint32
	for _, c := range u.seen {
		all = append(all, c.Number)
	}
	return all
}

// wireEvent is struct rdma_ucm_event_resp.
type wireEvent struct {
	UID      uint64
	ID, Kind uint32
	Status   int32
	QPNumber uint32
	QKey     uint32
	Data     [256]byte
	Length   uint8
	SRQ      uint8
	In, Out  uint8
	Flow     uint8
	Retry    uint8
	RNRRetry uint8
	Valid    uint8
	Union    [32]byte
	Reserved uint32
	ECE      [2]uint32
}

// bytes returns the event in the kernel's layout.
func (e *wireEvent) bytes() []byte {
	b, err := binary.Append(nil, binary.NativeEndian, e)
	if err != nil {
		panic(err)
	}
	return b
}

// decoded returns the event in the first n bytes of b.
func decoded(b []byte, n int) wireEvent {
	var e wireEvent
	whole := make([]byte, len(b))
	copy(whole, b[:n])
	if _, err := binary.Decode(whole, binary.NativeEndian, &e); err != nil {
		panic(err)
	}
	return e
}
