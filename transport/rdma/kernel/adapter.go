package kernel

import (
	"errors"
	"fmt"
	"io"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/ibverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// These interfaces contain those methods of an open device and of its objects that this package uses.
// Package uverbs implements them in Go for siw and rxe. Package ibverbs implements them by libibverbs
// for all other devices and, with Config.Library, also for siw and rxe.
type (
	adapter interface {
		Attributes() (uverbs.Attributes, error)
		Port(number int) (uverbs.PortAttributes, error)
		// OnDemand reports whether memory can be registered without being pinned.
		OnDemand() bool
		EventFD() int
		NextEvent() (uverbs.Event, bool, error)
		Close() error

		newChannel() (channel, error)
		newDomain() (protection, error)
		newCompletions(entries int, report channel) (completions, error)
		newPair(c *pairConfig) (madePair, error)
		// inline returns the maximum number of inline bytes of a request.
		inline() (int, error)
	}
	channel interface {
		FD() int
		Next() (bool, error)
		Close() error
	}
	completions interface {
		Capacity() int
		Poll(out []uverbs.Completion) int
		Arm() error
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

// pairConfig configures a queue pair. All objects in it belong to the same adapter.
type pairConfig struct {
	domain protection
	queue  completions
	shared receives // nil without a shared receive queue
	// capacity is the minimum capacity of the queue pair.
	capacity uverbs.Capacity
	// user identifies the queue pair in its events.
	user uint64
}

// madePair is a queue pair with its number and the capacity that the device has granted.
type madePair struct {
	pair
	number  uint32
	granted uverbs.Capacity
}

// ErrNoConnections reports that a device has no reliable connections.
var ErrNoConnections = errors.New("rdma_cm cannot make reliable connections of this device (efa and usnic are such devices): use iWARP over TCP on a network interface of the host")

// inGo is the text for a device that package uverbs drives. The text for a device that libibverbs
// drives is "by" and the version of the library.
const inGo = "in Go"

// wayOf returns a text for users that says how a device is driven. The device is driven in Go if
// package uverbs knows its queues and byLibrary is false. Otherwise it is driven by libibverbs. If
// libibverbs cannot drive the device, the error says what is missing.
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

// openAdapter opens a device. It also returns the text of wayOf.
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
