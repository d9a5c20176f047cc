package rdma_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

var errCut = errors.New("cut by the test")

// scissors is a provider whose connections break at random or on demand.
type scissors struct {
	verbs.Provider
	// every is the average number of calls of Progress from one broken connection to the next; 0 means that no
	// connection breaks at random.
	every int64
	seed  uint64
	// orders counts the calls of cutAll; cuts counts the connections that were broken.
	orders, cuts atomic.Int64
	opened       uint64
	// events delivers events of the adapters, such as EventPortDown.
	events chan provider.Event
	// grants, if not 0, is the MaxRequests that each queue pair is granted.
	grants int
	// full, if not nil, says whether NewQueuePair fails.
	full *atomic.Bool
}

// Open implements provider.Provider.
func (s *scissors) Open(name string, a provider.Adapter) (provider.Device, error) {
	d, err := s.Provider.Open(name, a)
	if err != nil {
		return nil, err
	}
	s.opened++
	return &fragile{Device: d, adapter: a, scissors: s, random: rand.New(rand.NewPCG(s.seed, s.opened))}, nil
}

// cutAll makes each adapter of this provider break all its connections at its next Progress.
func (s *scissors) cutAll() { s.orders.Add(1) }

// fragile is a device of scissors.
type fragile struct {
	provider.Device
	adapter  provider.Adapter
	scissors *scissors
	random   *rand.Rand
	obeyed   int64
	ends     []end
}

// end is one end of a connection.
type end struct {
	pair    provider.QueuePair
	upcalls provider.Upcalls
}

// NewQueuePair implements provider.Device.
func (f *fragile) NewQueuePair(c provider.QueuePairConfig) (provider.QueuePair, verbs.EndpointAttributes, error) {
	if full := f.scissors.full; full != nil && full.Load() {
		return nil, verbs.EndpointAttributes{}, errCut
	}
	p, granted, err := f.Device.NewQueuePair(c)
	if err == nil && f.scissors.grants != 0 {
		granted.MaxRequests = f.scissors.grants
	}
	if err == nil {
		f.ends = append(f.ends, end{p, c.Upcalls})
	}
	return p, granted, err
}

// Progress implements provider.Device.
func (f *fragile) Progress() (int, error) {
	n, err := f.Device.Progress()
	s := f.scissors
	select {
	case e := <-s.events:
		f.adapter.Happened(e)
		n++
	default:
	}
	if len(f.ends) == 0 || err != nil {
		return n, err
	}
	if orders := s.orders.Load(); orders != f.obeyed {
		f.obeyed = orders
		for len(f.ends) > 0 {
			n += f.cut(0)
		}
	} else if s.every > 0 && f.random.Int64N(s.every) == 0 {
		n += f.cut(f.random.IntN(len(f.ends)))
	}
	return n, err
}

// cut breaks the connection with index i, or the attempt to make it. A connection that has ended stays as it is.
func (f *fragile) cut(i int) int {
	e := f.ends[i]
	f.ends = slices.Delete(f.ends, i, i+1)
	e.pair.Abort()
	// Only the upcall that fits the state of the endpoint has an effect.
	e.upcalls.Failed(provider.FailureRefused, nil, errCut)
	e.upcalls.Broken(errCut)
	f.scissors.cuts.Add(1)
	return 1
}
