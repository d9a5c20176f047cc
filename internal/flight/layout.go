package flight

import (
	"fmt"
	"slices"
)

// Bytes is the length of the memory of a Recorder.
const Bytes = 33280

// Offset is the offset of the memory of a Recorder in the range of a rank in the node's memory.
const Offset = 2715648

// Contexts is the number of the engine's contexts that a communicator has. The first is for the messages of
// the program, and identifies the communicator in a record.
const Contexts = 5

// Slots is the number of operations on messages that are kept. The same number of operations of libraries is
// kept.
const Slots = 256

const (
	// magic is the first word of the memory: "gorunlog" in little endian. version is the version of the layout.
	magic   = 0x676f6c6e75726f67
	version = 2

	textsTotal = 256
	textBytes  = 64
)

// page has the layout of the memory, which the package comment describes.
type page struct {
	header struct {
		magic, version, start, clock uint64
		_                            [4]uint64
	}
	counts counts
	calls  struct {
		next uint64
		_    [7]uint64
	}
	_          [40]uint64
	messages   [Slots]slot
	operations [Slots]slot
	texts      [textsTotal][textBytes / 8]uint64
}

// counts holds the counters of messages. It is one cache line.
type counts struct {
	next            uint64 // number of the next record of a message
	bytes           uint64 // bytes sent and received
	waited, waiting uint64 // time waited, and start of the wait under way, in ns
	unexpected      uint64 // bytes of unexpected messages
	_               [3]uint64
}

// slot holds a record.
type slot [4]uint64

// Shifts, masks and special values of the fields in the words of a slot.
const (
	generationShift = 56
	generations     = 1 << (64 - generationShift)
	peerShift       = 32
	peerNone        = 1<<24 - 1
	operationShift  = 48
	highShift       = 32
	bytesShift      = 16
	bytesMost       = 1<<39 - 1
	short           = 1 << 55
	stateShift      = 48
	callerShift     = 32
	// sitesMask masks the site and its caller in word 3.
	sitesMask = 0xffff << callerShift
	timeMask  = 1<<32 - 1
)

// generation returns the top byte of the words of record n, shifted to the place of the top byte in a word.
// The top byte of the first records is 1, so that it differs from that of zero memory. Numbers of records are taken
// in advance (numbersAhead). A reader recognizes by the top byte that the record of such a number is not written yet.
func generation(n uint64) uint64 { return (n/Slots + 1) << generationShift }

// State is the state of an operation.
type State uint8

// The states of an operation. An operation is Begun if it is running, or if it was started and no goroutine
// waits for it.
const (
	Begun State = iota
	Waiting
	Done
	Failed
)

var stateNames = [...]string{Begun: "begun", Waiting: "waiting", Done: "done", Failed: "failed"}

// MarshalText returns the result of String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (s *State) UnmarshalText(text []byte) error {
	i := slices.Index(stateNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("flight: state %q", text)
	}
	*s = State(i)
	return nil
}

// String returns the state in one word.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "in an unknown state"
}
