package program

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
)

// Numbers of streams of random numbers. The stream streamPlan is the same at all ranks. The ranks have
// different streams for senders and receivers.
const (
	streamPlan    = iota
	streamSenders = 1000 * (1 + iota)
	streamReceivers
)

// Exchange is a program in which all ranks send each other messages according to a random plan, and
// send and receive in every way that package runtime has. It checks their contents and order, and that
// every message arrives once.
func Exchange() simulate.Program {
	return simulate.Program{Name: "exchange", Ranks: []int{1, 2, 2, 3, 5, 8}, Main: exchange}
}

// Survive is the program Exchange with the death of a rank. The other ranks must receive all messages that
// they send each other. They may receive some of the dead rank's messages, in order.
func Survive() simulate.Program {
	return simulate.Program{Name: "survive", Ranks: []int{2, 3, 5, 8}, Mortal: true, Main: exchange}
}

func exchange(r simulate.Rank) error {
	lost := newLosses(r.Conditions)
	comms, err := classComms(r.Comm())
	if err != nil {
		return lost.unexpected(err)
	}
	draw := r.Random(streamPlan)
	p := newPlan(draw, r.Size(), simulate.Pick(draw, 10, 50, 300), r.Conditions)
	hasty := simulate.Chance(draw, 0.4)
	jobs := []func() error{func() error {
		s := &sender{world: r.World, comms: comms, random: r.Random(uint32(streamSenders + r.Rank())), lost: lost, hasty: hasty}
		return s.run(p.of(func(m *parcel) bool { return m.from == r.Rank() }))
	}}
	for k := range classes {
		jobs = append(jobs, func() error {
			in := &receiver{
				comm: comms[k], class: k, random: r.Random(uint32(streamReceivers + 100*r.Rank() + int(k))), lost: lost, longest: p.longest, late: hasty,
				due: p.of(func(m *parcel) bool { return m.to == r.Rank() && m.class == k }), posted: map[pattern]int{},
			}
			return in.run()
		})
	}
	if err := together(jobs); err != nil || lost.mortal {
		return err
	}
	if err := r.Calm(); err != nil {
		return err
	}
	for _, c := range comms[:classes] {
		if s, found, err := runtime.Iprobe(c, runtime.AnySource, runtime.AnyTag); found || err != nil {
			return errors.Join(err, fmt.Errorf("after all messages there is one more: %+v", s))
		}
	}
	if simulate.Chance(draw, 0.5) {
		return credits(r, comms[classes])
	}
	return nil
}

// classComms returns the communicators of the classes, by class, and one more communicator for the function
// credits. The classes named and tagged share the communicator of the World.
func classComms(world *runtime.Comm) ([]*runtime.Comm, error) {
	comms := []*runtime.Comm{world, world}
	for range classes + 1 - sourced {
		c, err := world.Dup()
		if err != nil {
			return nil, err
		}
		comms = append(comms, c)
	}
	return comms, nil
}

// together runs each function on a goroutine of its own. It returns when all have returned, or at the
// first error.
func together(jobs []func() error) error {
	errs := make(chan error, len(jobs))
	for _, job := range jobs {
		go func() { errs <- job() }()
	}
	for range jobs {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}
