package flight

import (
	"fmt"
	"slices"
)

// Bytes is the length of the memory of a Recorder.
const Bytes = 33280

// Offset is where this memory begins in the range of a rank in the node's memory.
const Offset = 1142784

// Contexts is how many of the engine's contexts a communicator has. The first is for the messages of the
// program, and stands for the communicator in the record.
const Contexts = 5

// Slots is how many messages, and how many operations of libraries, are kept.
const Slots = 256

const (
	// magic begins the memory: "gorunlog", little endian. version is that of the layout.
	magic   = 0x676f6c6e75726f67
	version = 2

	textsTotal = 256
	textBytes  = 64
)

// page is the memory. See the package comment.
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

// counts are the counters of messages, in one cache line.
type counts struct {
	next            uint64 // number of the next record
	bytes           uint64 // sent and received
	waited, waiting uint64
	unexpected      uint64
	_               [3]uint64
}

// slot is a record.
type slot [4]uint64

// Parts of the words of a slot.
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
	// sitesMask are the bits of both texts in word 3.
	sitesMask = 0xffff << callerShift
	timeMask  = 1<<32 - 1
)

// generation is the top byte of the words of record n. It is not that of zeros for the first ones, so that a number which
// was taken ahead and has no record yet is none.
func generation(n uint64) uint64 { return (n/Slots + 1) << generationShift }

// State is what has become of an operation.
type State uint8

// The states of an operation. Begun is that of one which runs, or was started without a
// goroutine that waits for it.
const (
	Begun State = iota
	Waiting
	Done
	Failed
)

var stateNames = [...]string{Begun: "begun", Waiting: "waiting", Done: "done", Failed: "failed"}

// MarshalText is String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is the inverse of MarshalText for the states above.
func (s *State) UnmarshalText(text []byte) error {
	i := slices.Index(stateNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("flight: state %q", text)
	}
	*s = State(i)
	return nil
}

// String is the state in one word.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "in an unknown state"
}
