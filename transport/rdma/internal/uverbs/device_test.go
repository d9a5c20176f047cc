package uverbs_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/devicetest"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

var subject = devicetest.Subject{
	Variable: inGuest, Guest: "TestKernel", Closed: unix.ENOENT, Exact: true,
	Open: func(d *uverbs.Device) (devicetest.Device, error) {
		c, err := uverbs.Open(d)
		return device{c}, err
	},
}

// The tests of package devicetest.

func TestDeviceAttributes(t *testing.T) { subject.Attributes(t) }
func TestDeviceMemory(t *testing.T)     { subject.Memory(t) }
func TestDeviceFlush(t *testing.T)      { subject.Flush(t) }
func TestDeviceRoCE(t *testing.T)       { subject.RoCE(t) }
func TestDeviceShared(t *testing.T)     { subject.Shared(t) }

// The objects of this package with the methods that package devicetest uses.
type (
	device struct{ *uverbs.Context }
	domain struct{ *uverbs.ProtectionDomain }
	shared struct {
		*uverbs.SharedReceiveQueue
		entries int
	}
)

func (d device) Opened() uverbs.Device { return d.Device }

func (d device) Domain() (devicetest.Domain, error) {
	pd, err := d.NewProtectionDomain()
	return domain{pd}, err
}

func (d device) Channel() (devicetest.Channel, error) { return d.NewChannel() }

func (d device) Completions(entries int, report devicetest.Channel) (devicetest.Completions, error) {
	return d.NewCompletionQueue(entries, report.(*uverbs.Channel))
}

func (d device) Pair(c *devicetest.PairConfig) (*devicetest.Pair, error) {
	queue := c.Queue.(*uverbs.CompletionQueue)
	s, _ := c.Shared.(shared) // empty without a shared receive queue
	q, err := d.NewQueuePair(&uverbs.QueuePairConfig{
		Domain: c.Domain.(domain).ProtectionDomain, Sends: queue, Receives: queue, Shared: s.SharedReceiveQueue, User: c.User, Capacity: c.Capacity,
	})
	if err != nil {
		return nil, err
	}
	return &devicetest.Pair{Handle: q, Number: q.Number, Granted: q.Granted}, nil
}

func (d domain) Memory(b []byte, access uverbs.Access) (*devicetest.Region, error) {
	r, err := d.Register(b, access)
	if err != nil {
		return nil, err
	}
	return &devicetest.Region{Closer: r, LKey: r.LKey, RKey: r.RKey, Address: r.Address}, nil
}

func (d domain) Receives(entries, segments int) (devicetest.Receives, error) {
	s, err := d.NewSharedReceiveQueue(entries, segments)
	return shared{s, entries}, err
}

func (s shared) Capacity() int { return s.entries }
