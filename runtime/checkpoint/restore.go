package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// holding describes the copies that one member has. Members exchange their holdings in Restore.
type holding struct {
	Own       [generations]int // steps of the copies of the member's own parts
	Kept      [generations]int // steps of the copies that the member keeps for other ranks
	Ward      [generations]int // the ranks whose copies the member keeps, by the index of Kept
	Committed int              // the last step of a committed copy of the member's own parts, or none
}

// Restore fills the parts of every member from the newest checkpoint that exists for all members, and
// returns its step. If there is no such checkpoint because no Save has completed, found is false, and
// the parts are unchanged. The parts must have the lengths of the parts that the member has saved. If
// Restore fails at one member, it fails at all members. There is one exception: if a rank is lost at the end of
// Restore, Restore may fail at some members and return nil at others.
func (s *Store) Restore(c *runtime.Comm, parts ...Part) (step int, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, err := c.Dup()
	if err == nil {
		step, found, err = s.restore(own.WithContext(c.Context()), parts)
		err = errors.Join(err, own.Close())
	}
	if err != nil {
		return 0, false, fmt.Errorf("checkpoint: restore: %w", err)
	}
	return step, found, nil
}

func (s *Store) restore(own *runtime.Comm, parts []Part) (int, bool, error) {
	s.introduce(own)
	var err error
	for _, p := range parts {
		err = cmp.Or(err, p.err)
	}
	if own.World().LocalRank() == 0 {
		s.config.sweep() // one rank of each node does this, because each node may have a directory of its own
	}
	if err == nil {
		err = s.load(own.Size(), own.Rank())
	}
	if err := agree(own, 0, err); err != nil {
		return 0, false, err
	}
	all := make([]holding, own.Size())
	if err := collectives.AllGather(own, []holding{s.holding()}, all); err != nil {
		return 0, false, err
	}
	step, err := choose(all)
	if err != nil {
		return 0, false, err
	}
	if step == none {
		s.forget(none, none)
		return 0, false, nil
	}
	mine, err := s.fetch(own, all, step)
	if err == nil {
		err = mine.read(own.Size(), parts)
	}
	if err := agree(own, step, err); err != nil {
		return 0, false, err
	}
	r, err := newRing(own)
	if err == nil {
		err = s.replenish(own, r, all, step)
	}
	if err := agree(own, step, err); err != nil {
		return 0, false, err
	}
	s.forget(step, r.ward)
	return step, true, nil
}

// holding returns the description of the copies that this rank has.
func (s *Store) holding() holding {
	h := holding{Committed: none}
	for i := range generations {
		h.Own[i], h.Kept[i], h.Ward[i] = s.own[i].step, s.kept[i].step, s.kept[i].rank
		if s.own[i].committed {
			h.Committed = max(h.Committed, s.own[i].step)
		}
	}
	return h
}

// holders returns the ranks that have the copy of a rank at a step: first that rank itself, if it has
// the copy, then its keepers in ascending order.
func holders(all []holding, rank, step int) []int {
	var list []int
	if slices.Contains(all[rank].Own[:], step) {
		list = append(list, rank)
	}
	for r, h := range all {
		for i := range generations {
			if r != rank && h.Kept[i] == step && h.Ward[i] == rank {
				list = append(list, r)
			}
		}
	}
	return list
}

// choose returns the newest step for which a copy of every rank exists. The Save of this step need
// not have completed. Steps before the last completed step are not considered. If there is no such
// step, choose returns the step none if Save has never completed, otherwise a *LostError.
func choose(all []holding) (int, error) {
	steps, committed := make([]int, 0, 2*generations*len(all)), none
	for _, h := range all {
		committed = max(committed, h.Committed)
		for i := range generations {
			steps = append(steps, h.Own[i], h.Kept[i])
		}
	}
	slices.Sort(steps)
	for _, step := range slices.Backward(slices.Compact(steps)) {
		if step == none || step < committed {
			break
		}
		if len(missing(all, step)) == 0 {
			return step, nil
		}
	}
	if committed == none {
		return none, nil
	}
	return none, &LostError{Step: committed, Ranks: missing(all, committed)}
}

// missing returns the ranks whose copy of a step no member has.
func missing(all []holding, step int) []int {
	var ranks []int
	for r := range all {
		if len(holders(all, r, step)) == 0 {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// fetch returns this rank's copy of a step. If this rank does not have the copy, it receives the copy
// from the first of the copy's holders. fetch also sends the copies that other ranks need from this
// rank.
func (s *Store) fetch(c *runtime.Comm, all []holding, step int) (*copied, error) {
	var requests []runtime.Request
	var err error
	for rank := range all {
		if from := holders(all, rank, step)[0]; from == c.Rank() && rank != from {
			kept := find(&s.kept, rank, step)
			if !isPacked(kept.image) {
				requests = append(requests, send(c, rank, kept.image)...)
				continue
			}
			forwarded, failed := forward(c, rank, kept.image)
			requests, err = append(requests, forwarded...), cmp.Or(err, failed)
		}
	}
	mine := find(&s.own, c.Rank(), step)
	if from := holders(all, c.Rank(), step)[0]; mine == nil {
		mine = s.oldest(&s.own)
		err = cmp.Or(err, mine.obtain(c, from, c.Rank(), step))
	}
	return mine, cmp.Or(err, runtime.WaitAll(requests))
}

// read fills parts from a copy of this rank. If the image of the copy is packed, read replaces it by
// the unpacked image. If a packed image is corrupt, read marks the copy as absent and returns the
// error.
func (d *copied) read(size int, parts []Part) error {
	if isPacked(d.image) {
		image, err := unpack(d.image, d.rank, parts)
		if err == nil {
			_, err = checkImage(image, size, d.rank)
		}
		if errors.Is(err, ErrCorrupt) {
			d.step, d.committed = none, false
		}
		if err != nil {
			return err
		}
		d.image = image
	}
	return readImage(d.image, parts)
}

// replenish restores the second copies of a step. It sends this rank's copy to its keeper if the keeper does not have
// it, and receives the copy of this rank's ward (see ring) if this rank does not have it.
func (s *Store) replenish(c *runtime.Comm, r *ring, all []holding, step int) error {
	if c.Size() == 1 {
		return nil
	}
	var err error
	keeps := func(keeper, rank int) bool {
		h := all[keeper]
		return h.Kept[0] == step && h.Ward[0] == rank || h.Kept[1] == step && h.Ward[1] == rank
	}
	handed := func() error { return nil }
	if mine := find(&s.own, c.Rank(), step); !keeps(r.keeper, c.Rank()) {
		handed = s.hand(c, r, mine.image, step)
	}
	if !keeps(c.Rank(), r.ward) {
		err = s.oldest(&s.kept).obtain(c, r.ward, r.ward, step)
	}
	return cmp.Or(err, handed())
}

// find returns the copy of a rank at a step from an array of copies, or nil if the array has no such
// copy.
func find(in *[generations]copied, rank, step int) *copied {
	for i := range in {
		if in[i].rank == rank && in[i].step == step {
			return &in[i]
		}
	}
	return nil
}

// forget is called with the step that all ranks have restored, or with none. It discards the copies of
// later steps, because not all ranks have copies of these steps. It marks the copies of the restored step
// as committed. If step is none, it discards all copies. It also discards the copies that this rank keeps for ranks
// other than ward. These ranks have had another keeper since ranks were started again on other nodes. If such a copy of
// the restored step stayed, Save could replace the copy of ward and not this copy, because both are of the same step.
func (s *Store) forget(step, ward int) {
	for i := range s.kept {
		if s.kept[i].rank != ward {
			s.kept[i].step, s.kept[i].committed = none, false
		}
	}
	for _, of := range [...]*[generations]copied{&s.own, &s.kept} {
		for i := range of {
			switch {
			case of[i].step > step:
				of[i].step, of[i].committed = none, false
			case of[i].step == step && step != none:
				of[i].committed = true
			}
		}
	}
}
