package kernel

import (
	"io"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

const (
	// inlineSIW is the maximum number of inline bytes in siw. inlineMost is the maximum number of inline
	// bytes for other devices: longer messages are faster without inline data.
	inlineSIW  = 80
	inlineMost = 256
)

// direct is a device that package uverbs drives.
type direct struct{ *uverbs.Context }

// directDomain is a protection domain of a direct device.
type directDomain struct{ *uverbs.ProtectionDomain }

var (
	_ adapter    = direct{}
	_ protection = directDomain{}
)

func (c direct) inline() (int, error) {
	if c.Device.Driver == uverbs.DriverSIW {
		return inlineSIW, nil
	}
	return inlineMost, nil
}

func (c direct) newChannel() (channel, error) {
	ch, err := c.NewChannel()
	if err != nil {
		return nil, err
	}
	return ch, nil
}

func (c direct) newDomain() (protection, error) {
	d, err := c.NewProtectionDomain()
	if err != nil {
		return nil, err
	}
	return directDomain{d}, nil
}

func (c direct) newCompletions(entries int, report channel) (completions, error) {
	ch, _ := report.(*uverbs.Channel)
	q, err := c.NewCompletionQueue(entries, ch)
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (c direct) newPair(p *pairConfig) (madePair, error) {
	queue := p.queue.(*uverbs.CompletionQueue)
	shared, _ := p.shared.(*uverbs.SharedReceiveQueue)
	q, err := c.NewQueuePair(&uverbs.QueuePairConfig{
		Domain: p.domain.(directDomain).ProtectionDomain, Sends: queue, Receives: queue, Shared: shared, Capacity: p.capacity, User: p.user,
	})
	if err != nil {
		return madePair{}, err
	}
	return madePair{pair: q, number: q.Number, granted: q.Granted}, nil
}

func (d directDomain) register(b []byte, access uverbs.Access) (provider.Registered, io.Closer, error) {
	r, err := d.Register(b, access)
	if err != nil {
		return provider.Registered{}, nil, err
	}
	return provider.Registered{LKey: r.LKey, RKey: r.RKey, Address: r.Address}, r, nil
}

func (d directDomain) newReceives(entries, segments int) (receives, error) {
	s, err := d.NewSharedReceiveQueue(entries, segments)
	if err != nil {
		return nil, err
	}
	return s, nil
}
