package bootstrap

import "encoding/binary"

// OnRenewal sets what Tell calls with Next.Plan when the server begins the next generation of the job.
// It is to call Renew, and is set before the first frame of the server.
func (r *Relay) OnRenewal(renewal func(plan []byte) error) { r.renewal = renewal }

// Renew begins the next generation of the job for the ranks of this node, which may be others than
// before. A rank that has ended without the server's knowledge is left out: it will be lost.
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

// stop forgets what was gathered for a generation that is over. Callers hold gathering.
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

// outdated is Server.outdated for frames that the relay would gather. Callers hold gathering.
func (r *Relay) outdated(rank int, k kind, body []byte) bool {
	if r.stale[rank] && k == kindRejoin && len(body) == 4 {
		r.stale[rank] = int(binary.LittleEndian.Uint32(body)) != r.generation
	}
	return r.stale[rank] && (k == kindCard || k == kindVote || k == kindFinalize)
}
