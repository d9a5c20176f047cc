package devicetest

import (
	"io"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// Subject is the package under test.
type Subject struct {
	// Variable is the environment variable with the name of the device. Guest is the name of the test that runs
	// the tests of the device in a guest machine, and sets the variable.
	Variable, Guest string
	// Open opens a device.
	Open func(d *uverbs.Device) (Device, error)
	// Closed is the error of the second Close of a Region.
	Closed error
	// Exact reports whether a receive queue has room for the granted number of receives, and not for more.
	Exact bool
}

// These interfaces contain those methods of an open device and of its objects that the tests use.
type (
	// Device is an open device.
	Device interface {
		// Opened describes the device.
		Opened() uverbs.Device
		Attributes() (uverbs.Attributes, error)
		Port(number int) (uverbs.PortAttributes, error)
		Domain() (Domain, error)
		Channel() (Channel, error)
		Completions(entries int, report Channel) (Completions, error)
		Pair(c *PairConfig) (*Pair, error)
		Close() error
	}
	// Domain is a protection domain.
	Domain interface {
		Memory(b []byte, access uverbs.Access) (*Region, error)
		Receives(entries, segments int) (Receives, error)
		Close() error
	}
	// Channel is a completion channel.
	Channel interface {
		FD() int
		Next() (bool, error)
		Close() error
	}
	// Completions is a completion queue.
	Completions interface {
		Poll(out []uverbs.Completion) int
		Arm() error
		Close() error
	}
	// Receives is a shared receive queue.
	Receives interface {
		// Capacity returns the number of receives for which the queue has room, or a smaller number.
		Capacity() int
		PostReceives(list []uverbs.ReceiveRequest) (int, error)
		Close() error
	}
	// Handle has the methods of a queue pair.
	Handle interface {
		Modify(a *uverbs.PairAttributes) error
		SetState(s uverbs.State) error
		PostSends(list []uverbs.SendRequest) (int, error)
		PostReceives(list []uverbs.ReceiveRequest) (int, error)
		Close() error
	}
)

// Region is registered memory.
type Region struct {
	io.Closer
	LKey, RKey uint32
	Address    uint64
}

// PairConfig describes a queue pair to be made. Shared is nil if the queue pair has a receive queue of its own.
type PairConfig struct {
	Domain   Domain
	Queue    Completions
	Shared   Receives
	Capacity uverbs.Capacity
	User     uint64
}

// Pair is a queue pair.
type Pair struct {
	Handle
	Number  uint32
	Granted uverbs.Capacity
}
