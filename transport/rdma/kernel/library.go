package kernel

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/ibverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// library is a device that libibverbs drives.
type library struct{ *ibverbs.Context }

// libraryDomain is a protection domain of a library device.
type libraryDomain struct{ *ibverbs.ProtectionDomain }

var (
	_ adapter    = library{}
	_ protection = libraryDomain{}
)

func (c library) inline() (int, error) { return inlineOf(c) }

// inlineOf returns the number of inline bytes that a device accepts, at most inlineMost. The library
// has no query for this number, so inlineOf determines it by creating queue pairs. If a device refuses
// even a queue pair without inline bytes, and the error is EINVAL or EOPNOTSUPP, inlineOf returns
// ErrNoConnections.
func inlineOf(c adapter) (int, error) {
	domain, err := c.newDomain()
	if err != nil {
		return 0, err
	}
	defer func() { _ = domain.Close() }()
	queue, err := c.newCompletions(1, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = queue.Close() }()
	for size := inlineMost; ; size /= 2 {
		p, err := c.newPair(&pairConfig{domain: domain, queue: queue, capacity: uverbs.Capacity{Sends: 1, Receives: 1, SendSegments: 1, ReceiveSegments: 1, Inline: size}})
		switch {
		case err == nil:
			return min(p.granted.Inline, inlineMost), p.Close()
		case size > 0:
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP):
			return 0, fmt.Errorf("%w: %w", ErrNoConnections, err)
		default:
			return 0, err
		}
	}
}

func (c library) newChannel() (channel, error) {
	ch, err := c.NewChannel()
	if err != nil {
		return nil, err
	}
	return ch, nil
}

func (c library) newDomain() (protection, error) {
	d, err := c.NewProtectionDomain()
	if err != nil {
		return nil, err
	}
	return libraryDomain{d}, nil
}

func (c library) newCompletions(entries int, report channel) (completions, error) {
	ch, _ := report.(*ibverbs.Channel)
	q, err := c.NewCompletionQueue(entries, ch)
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (c library) newPair(p *pairConfig) (madePair, error) {
	queue := p.queue.(*ibverbs.CompletionQueue)
	shared, _ := p.shared.(*ibverbs.SharedReceiveQueue)
	q, err := c.NewQueuePair(&ibverbs.QueuePairConfig{
		Domain: p.domain.(libraryDomain).ProtectionDomain, Sends: queue, Receives: queue, Shared: shared, Capacity: p.capacity, User: p.user,
	})
	if err != nil {
		return madePair{}, err
	}
	return madePair{pair: q, number: q.Number, granted: q.Granted}, nil
}

func (d libraryDomain) register(b []byte, access uverbs.Access) (provider.Registered, io.Closer, error) {
	r, err := d.Register(b, access)
	if err != nil {
		return provider.Registered{}, nil, err
	}
	return provider.Registered{LKey: r.LKey, RKey: r.RKey, Address: r.Address}, r, nil
}

func (d libraryDomain) newReceives(entries, segments int) (receives, error) {
	s, err := d.NewSharedReceiveQueue(entries, segments)
	if err != nil {
		return nil, err
	}
	return s, nil
}
