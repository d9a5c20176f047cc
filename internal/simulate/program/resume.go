package program

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/checkpoint"
)

// Resume is a program of steps whose result depends on the states of all ranks and on the order of the steps.
// Each step has messages, collective operations, and one more operation such as a request to an actor.
// Package checkpoint saves the state after some steps. Ranks die up to four times. A death may also occur while the
// other ranks are already in the next generation. The result must be the same as the result of a sequential
// computation.
func Resume() simulate.Program {
	return simulate.Program{
		Name: "resume", Ranks: []int{1, 2, 3, 4, 5}, Mortal: true, Adapt: restarting, Main: resume,
	}
}

// restarting sets the number of restarts, and adds up to three deaths. The event of each of them is at most
// 199 events after the event of the previous death.
func restarting(c *simulate.Conditions) {
	c.Launcher, c.Restarts = true, 8
	if len(c.Deaths) == 0 {
		return
	}
	first := c.Deaths[0]
	r := rand.New(rand.NewPCG(uint64(first.Event), uint64(first.Rank)))
	for range r.IntN(4) {
		next := c.Deaths[len(c.Deaths)-1]
		next.Event += r.IntN(simulate.Pick(r, 1, 10, 100, 200))
		next.Rank = r.IntN(first.Rank + 2)
		c.Deaths = append(c.Deaths, next)
	}
}

// Streams of random numbers of Resume.
const (
	streamResume       = 14000
	streamResumeRanks  = 15000 // plus the rank
	streamResumeBeside = 16000 // plus 64 times the generation plus the step
)

// enduring is the state of a rank of Resume, from a start of the rank to its death.
type enduring struct {
	rank         simulate.Rank
	own          *rand.Rand
	steps, width int // number of steps, and of elements of a rank's state
	often        int // number of steps from one checkpoint to the next
	store        *checkpoint.Store
	last         int    // the newest generation that the rank has entered
	saved        int    // the last step for which Save has returned nil, -1 for none
	hosts        *hosts // of the newest generation, nil before the first
}

func resume(r simulate.Rank) error {
	draw := r.Random(streamResume)
	e := &enduring{rank: r, saved: -1, own: r.Random(uint32(streamResumeRanks + r.Rank()))}
	e.steps, e.often, e.width = simulate.Pick(draw, 2, 6, 12), 1+draw.IntN(3), simulate.Pick(draw, 1, 40, 900)
	var err error
	if e.store, err = checkpoint.New(checkpoint.Config{}); err != nil {
		return err
	}
	if err := r.Resume(e.generation); err != nil {
		return err
	}
	if n := e.count("computed", e.last); n != r.Size() {
		return fmt.Errorf("generation %d ends, and %d of %d ranks have the result", e.last, n, r.Size())
	}
	return nil
}

// mark records that this rank has reached a place in a generation. count returns the number of ranks that have
// reached a place.
func (e *enduring) mark(place string, generation int) {
	e.rank.Board.Store(fmt.Sprint(place, generation, " ", e.rank.Rank()), true)
}

func (e *enduring) count(place string, generation int) (n int) {
	for rank := range e.rank.Size() {
		if _, there := e.rank.Board.Load(fmt.Sprint(place, generation, " ", rank)); there {
			n++
		}
	}
	return n
}

// generation is the function that World.Resume calls in each generation.
func (e *enduring) generation(w *runtime.World) error {
	if (w.Role() == runtime.Initial) != (w.Generation() == 0) {
		return fmt.Errorf("role %v in generation %d", w.Role(), w.Generation())
	}
	e.last = w.Generation()
	if err := e.welcome(w); err != nil {
		return err
	}
	state := make([]int64, e.width)
	step, err := e.restore(w, state)
	if err != nil {
		return err
	}
	for ; step < e.steps; step++ {
		if simulate.Chance(e.own, 0.2) {
			time.Sleep(simulate.Within(e.own, 20*time.Millisecond)) // virtual time
		}
		if err := e.step(w, state, step); err != nil {
			return err
		}
		if step%e.often == 0 {
			origin := []int64{int64(w.Generation())}
			if err := e.store.Save(w.Comm(), step, checkpoint.Slice(state), checkpoint.Slice(origin)); err != nil {
				return err
			}
			e.saved = step
		}
	}
	for i, want := range endured(w.Size(), e.steps, e.width)[w.Rank()] {
		if state[i] != want {
			return fmt.Errorf("element %d is %d in place of %d in generation %d", i, state[i], want, w.Generation())
		}
	}
	e.mark("computed", w.Generation())
	return nil
}

// restore returns the step with which the rank goes on, and sets state to the state before that step. All ranks
// begin with step 0 again if the copies of a rank are lost. They are lost if both the rank and the rank that
// keeps its copies are lost, and not all ranks have restored their state between the two losses.
func (e *enduring) restore(w *runtime.World, state []int64) (int, error) {
	for i := range state {
		state[i] = int64(w.Rank()*e.width + i)
	}
	if w.Generation() == 0 {
		return 0, nil
	}
	origin := []int64{0}
	step, found, err := e.store.Restore(w.Comm(), checkpoint.Slice(state), checkpoint.Slice(origin))
	before := w.Generation() - 1
	if errors.Is(err, checkpoint.ErrLost) && before > 0 && e.count("restored", before) < w.Size() {
		e.saved = -1
		e.store, err = checkpoint.New(checkpoint.Config{})
	}
	if err != nil {
		return 0, err
	}
	e.mark("restored", w.Generation())
	if !found {
		step = -1
	}
	if step < e.saved {
		return 0, fmt.Errorf("step %d is restored, after step %d was saved", step, e.saved)
	}
	return step + 1, e.same(w.Comm(), origin)
}

// same checks that the restored copies of all ranks were saved in the same generation.
func (e *enduring) same(c *runtime.Comm, origin []int64) error {
	all := make([]int64, c.Size())
	if err := collectives.AllGather(c, origin, all); err != nil {
		return err
	}
	for _, g := range all {
		if g != all[0] {
			return fmt.Errorf("copies of generations %v are restored together", all)
		}
	}
	return nil
}

// step computes the next state from the states of this rank and its left neighbour, and from a sum over
// all ranks.
func (e *enduring) step(w *runtime.World, state []int64, step int) error {
	n, c := w.Size(), w.Comm()
	out := append([]int64{int64(w.Generation())}, state...)
	in := make([]int64, len(out))
	to, from := (w.Rank()+1)%n, (w.Rank()+n-1)%n
	send := runtime.Isend(c, out, to, step)
	source := from
	if simulate.Chance(e.own, 0.5) {
		source = runtime.AnySource
	}
	_, err := runtime.Recv(c, in, source, step)
	if _, sent := send.Wait(); errors.Join(err, sent) != nil {
		return errors.Join(err, sent)
	}
	if in[0] != int64(w.Generation()) {
		return fmt.Errorf("a message of generation %d in generation %d", in[0], w.Generation())
	}
	sum := make([]int64, 1)
	if err := collectives.AllReduce(c, state[:1], sum, collectives.Sum); err != nil {
		return err
	}
	mix(state, in[1:], sum[0])
	return e.beside(w, step)
}

// mix computes the next state of a rank in place. before is the state of the previous rank in the ring. sum
// is the sum of the first elements of all ranks.
func mix(state, before []int64, sum int64) {
	for i := range state {
		state[i] = state[i]*31 + before[i]*7 + sum
	}
}

// endured computes the states of all ranks after the last step, sequentially.
func endured(n, steps, width int) [][]int64 {
	states := make([][]int64, n)
	for rank := range states {
		for i := range width {
			states[rank] = append(states[rank], int64(rank*width+i))
		}
	}
	for range steps {
		old, sum := make([][]int64, n), int64(0)
		for rank, s := range states {
			old[rank] = append([]int64(nil), s...)
			sum += s[0]
		}
		for rank, s := range states {
			mix(s, old[(rank+n-1)%n], sum)
		}
	}
	return states
}
