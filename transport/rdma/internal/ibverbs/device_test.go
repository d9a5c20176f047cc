package ibverbs_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/devicetest"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/ibverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// A provider of the library may have room for more receives than it reports.
var subject = devicetest.Subject{
	Variable: inGuest, Guest: "TestLibrary", Closed: uverbs.ErrClosed, Exact: false,
	Open: func(d *uverbs.Device) (devicetest.Device, error) {
		c, err := ibverbs.Open(d)
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
	device struct{ *ibverbs.Context }
	domain struct{ *ibverbs.ProtectionDomain }
)

func (d device) Opened() uverbs.Device { return d.Device }

func (d device) Domain() (devicetest.Domain, error) {
	pd, err := d.NewProtectionDomain()
	return domain{pd}, err
}

func (d device) Channel() (devicetest.Channel, error) { return d.NewChannel() }

func (d device) Completions(entries int, report devicetest.Channel) (devicetest.Completions, error) {
	return d.NewCompletionQueue(entries, report.(*ibverbs.Channel))
}

func (d device) Pair(c *devicetest.PairConfig) (*devicetest.Pair, error) {
	queue := c.Queue.(*ibverbs.CompletionQueue)
	shared, _ := c.Shared.(*ibverbs.SharedReceiveQueue) // nil without a shared receive queue
	q, err := d.NewQueuePair(&ibverbs.QueuePairConfig{
		Domain: c.Domain.(domain).ProtectionDomain, Sends: queue, Receives: queue, Shared: shared, User: c.User, Capacity: c.Capacity,
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
	return d.NewSharedReceiveQueue(entries, segments)
}
