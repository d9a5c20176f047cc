package rdma_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// lesser is a provider whose adapters have changed attributes.
type lesser struct {
	verbs.Provider
	change func(a *provider.Attributes)
}

func (l *lesser) Open(name string, a provider.Adapter) (provider.Device, error) {
	d, err := l.Provider.Open(name, a)
	return &lesserDevice{d, l.change}, err
}

type lesserDevice struct {
	provider.Device
	change func(a *provider.Attributes)
}

func (d *lesserDevice) Attributes() provider.Attributes {
	a := d.Device.Attributes()
	d.change(&a)
	return a
}

// TestAdapterLacksFeature checks that the error for an adapter that cannot be used names what the adapter lacks.
func TestAdapterLacksFeature(t *testing.T) {
	for text, change := range map[string]func(a *provider.Attributes){
		"has no shared receive queues":          func(a *provider.Attributes) { a.MaxSharedReceives = 0 },
		"carries only 55 bytes of private data": func(a *provider.Attributes) { a.MaxRequestData = 55 },
	} {
		p := memory(verbstest.StyleInfiniBand, 1)[0]
		_, err := rdma.New(rdma.Config{
			Size: 1, Job: "test", Secret: []byte("a secret of the tests"), Sleeper: new(transport.ChannelSleeper),
			Lookup: func(int) ([]rdma.Location, error) { return nil, nil },
			Rails:  []rdma.Rail{{Provider: &lesser{p.provider, change}, Interface: p.name}},
		})
		require.ErrorIs(t, err, transport.ErrNotSupported)
		require.ErrorContains(t, err, text)
	}
}
