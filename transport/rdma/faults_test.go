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

// scissors is a provider whose connections break, now and then or on demand.
type scissors struct {
	verbs.Provider
	// every is how many looks go by on average before a connection breaks; 0 is never.
	every int64
	seed  uint64
	// orders counts cuts of every connection that were ordered, cuts those done.
	orders, cuts atomic.Int64
	opened       uint64
	// events are what happens to this provider's adapters as a whole.
	events chan provider.Event
	// grants, if not 0, is how many requests a queue pair gets at most.
	grants int
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

// cutAll breaks every connection of this provider's adapters at their next look.
func (s *scissors) cutAll() { s.orders.Add(1) }

// fragile is one of its adapters.
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

// cut breaks a connection, or an attempt at one, unless it has ended.
func (f *fragile) cut(i int) int {
	e := f.ends[i]
	f.ends = slices.Delete(f.ends, i, i+1)
	e.pair.Abort()
	// Of the two only the one that fits its state does anything.
	e.upcalls.Failed(provider.FailureRefused, nil, errCut)
	e.upcalls.Broken(errCut)
	f.scissors.cuts.Add(1)
	return 1
}
