package rdma_test

import (
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// slow is a provider whose devices do not close before the test allows it. A removed device of the kernel may also
// take a long time to close.
type slow struct {
	verbs.Provider
	// closing is closed when Close of a device is called. Close returns when release is closed.
	closing, release chan struct{}
}

type slowDevice struct {
	provider.Device
	provider *slow
}

// Open implements provider.Provider.
func (s *slow) Open(name string, a provider.Adapter) (provider.Device, error) {
	d, err := s.Provider.Open(name, a)
	return &slowDevice{d, s}, err
}

// Close implements provider.Device.
func (d *slowDevice) Close() error {
	close(d.provider.closing)
	<-d.provider.release
	return d.Device.Close()
}

// TestRequestOnARemovedAdapter removes an adapter together with the arrival of a connection request. When the rank
// answers the request, the adapter is being closed. The test checks that Poll does not wait for the close.
func TestRequestOnARemovedAdapter(t *testing.T) {
	r := &rails{first: memory(verbstest.StyleInfiniBand, 2), second: memory(verbstest.StyleIWARP, 2)}
	late := &slow{Provider: r.first[0].provider, closing: make(chan struct{}), release: make(chan struct{})}
	s := &scissors{Provider: late, events: make(chan provider.Event, 1)}
	r.first[0].provider = s
	own, u := loneAt(t, r.first, 2, func(c *rdma.Config) {
		impatient(c)
		r.config(c)
	})
	c, n := credentials(1, 2), request(1)
	u.dial(own.Address(), c.AppendRequest(nil, &n, 0))
	s.events <- provider.Event{Kind: provider.EventRemoved}
	own.poll()
	require.Empty(t, s.events)
	<-late.closing

	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for own.Strangers().Declined.Load() == 0 {
			if n, err := own.Poll(own, 1); n == 0 && err == nil {
				goruntime.Gosched()
			}
		}
	}()
	select {
	case <-answered:
	case <-time.After(patience):
		t.Error("Poll waits for the close of the adapter, or the request was not answered")
	}
	close(late.release)
	<-answered
	require.NoError(t, own.Close())
}
