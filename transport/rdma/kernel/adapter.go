package kernel

import (
	"errors"
	"fmt"
	"io"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/ibverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// What is used of an open device: package uverbs drives siw and rxe in Go, package ibverbs
// all others by the library.
type (
	adapter interface {
		Attributes() (uverbs.Attributes, error)
		Port(number int) (uverbs.PortAttributes, error)
		// OnDemand says that memory can be registered that is not pinned.
		OnDemand() bool
		EventFD() int
		NextEvent() (uverbs.Event, bool, error)
		Close() error

		newChannel() (channel, error)
		newDomain() (protection, error)
		newCompletions(entries int, report channel) (completions, error)
		newPair(c *pairConfig) (madePair, error)
		// inline is how many bytes inline a request may have.
		inline() (int, error)
	}
	channel interface {
		FD() int
		Next() (user uint64, ok bool, err error)
		Close() error
	}
	completions interface {
		Capacity() int
		Poll(out []uverbs.Completion) int
		Arm(solicitedOnly bool) error
		Close() error
	}
	protection interface {
		register(b []byte, access uverbs.Access) (provider.Registered, io.Closer, error)
		newReceives(entries, segments int) (receives, error)
		Close() error
	}
	receives interface {
		PostReceives(list []uverbs.ReceiveRequest) (int, error)
		Close() error
	}
	pair interface {
		Modify(a *uverbs.PairAttributes) error
		SetState(s uverbs.State) error
		QueryState() (uverbs.State, error)
		PostSends(list []uverbs.SendRequest) (int, error)
		PostReceives(list []uverbs.ReceiveRequest) (int, error)
		Close() error
	}
)

// pairConfig says what a queue pair is made of, all of the same adapter.
type pairConfig struct {
	domain protection
	queue  completions
	shared receives // or nil
	// capacity is what is wanted, at least.
	capacity uverbs.Capacity
	// user comes back in events.
	user uint64
}

// madePair is a queue pair and what is known of it from the start.
type madePair struct {
	pair
	number  uint32
	granted uverbs.Capacity
}

// ErrNoConnections says that a device has no reliable connections.
var ErrNoConnections = errors.New("the device has no reliable connections that rdma_cm makes (as those of efa and usnic): use iWARP over TCP on its network interface")

// The ways to drive a device.
const inGo = "in Go"

// wayOf is what drives a device, for people: Go where its queues are known, unless the
// library is asked for. The error says what is missing.
func wayOf(d *uverbs.Device, byLibrary bool) (string, error) {
	if d.Transport == uverbs.TransportOther {
		return "", ErrNoConnections
	}
	if uverbs.Drives(d) && !byLibrary {
		return inGo, nil
	}
	if err := ibverbs.Available(); err != nil {
		return "", err
	}
	return "by " + ibverbs.Version(), nil
}

// openAdapter opens a device, and says what drives it.
func openAdapter(d *uverbs.Device, byLibrary bool) (a adapter, way string, err error) {
	way, err = wayOf(d, byLibrary)
	if err != nil {
		return nil, "", fmt.Errorf("kernel: open device %s (%v): %w", d.Name, d.Driver, err)
	}
	if way == inGo {
		c, err := uverbs.Open(d)
		if err != nil {
			return nil, "", err
		}
		return direct{c}, way, nil
	}
	c, err := ibverbs.Open(d)
	if err != nil {
		return nil, "", err
	}
	return library{c}, way, nil
}
