package program

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
)

// Streams of random numbers: the plan is that of all ranks, the others are by rank.
const (
	streamPlan    = iota
	streamSenders = 1000 * (1 + iota)
	streamReceivers
)

// Exchange is messages between all ranks by a random plan, sent and received in every way
// that there is: contents, order, nothing lost, nothing twice.
func Exchange() simulate.Program {
	return simulate.Program{Name: "exchange", Ranks: []int{1, 2, 2, 3, 5, 8}, Main: exchange}
}

// Survive is Exchange, during which a rank dies: the others get all of each other's
// messages, and of that rank's some, in order.
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

// classComms returns the communicators of the classes, and one more for the check of the
// credit.
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

// together runs functions on goroutines of their own and returns the first error at once.
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
