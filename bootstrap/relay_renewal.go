package bootstrap

import "encoding/binary"

// OnRenewal sets the function that Tell calls with Next.Plan when the server begins the next generation of
// the job. That function has to call Renew. OnRenewal must be called before the first call of Tell.
func (r *Relay) OnRenewal(renewal func(plan []byte) error) { r.renewal = renewal }

// Renew begins the next generation of the job for the ranks of this node, which may differ from the ranks of
// the previous generation. If the server knows that a rank has ended (Next.Lost), a new process replaces the
// rank, and Renew makes a new outlet for this process. If a rank has ended and the server does not know it
// yet, Renew skips the rank. The server learns of that loss in the new generation.
func (r *Relay) Renew(n Next, ranks []int) error {
	r.gathering.Lock()
	defer r.gathering.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	var here []int
	outlets := make(map[int]*outlet, len(ranks))
	for _, rank := range ranks {
		out := r.outlets[rank]
		if n.lost(rank) {
			out = &outlet{}
		}
		if out != nil {
			outlets[rank], here = out, append(here, rank)
		}
	}
	frames, err := n.frames(here)
	if err != nil {
		return err
	}
	r.stop()
	r.generation, r.books = n.Generation, 0
	r.outlets, r.stale = outlets, map[int]bool{}
	for _, rank := range here {
		r.waiting[rank], r.local[rank], r.stale[rank] = true, true, true
		if p, told := frames[rank]; told {
			outlets[rank].pushWith(p.frames, p.file)
		}
	}
	r.shelf.close()
	r.shelf = n.Shelf
	return nil
}

// stop stops the relay's timer, and discards everything that the relay has recorded in the previous
// generation: the cards, votes and states of the ranks. Callers hold gathering.
func (r *Relay) stop() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	clear(r.cards)
	clear(r.waiting)
	clear(r.local)
	clear(r.polls)
}

// outdated reports whether a frame of a rank belongs to an earlier generation and is of a kind that the relay
// gathers or counts. For frames of other kinds, outdated returns false, because the server checks those
// frames (Server.outdated). outdated also records that a rank has rejoined. Callers hold gathering.
func (r *Relay) outdated(rank int, k kind, body []byte) bool {
	if r.stale[rank] && k == kindRejoin && len(body) == 4 {
		r.stale[rank] = int(binary.LittleEndian.Uint32(body)) != r.generation
	}
	return r.stale[rank] && (k == kindCard || k == kindVote || k == kindFinalize)
}
