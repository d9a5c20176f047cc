//go:build !portable

package bootstrap

import (
	"fmt"
	"os"
	"sync"
)

// host serves the ranks of a job that has begun, in rank 0.
type host struct {
	*meeting
	server *Server
	left   sync.WaitGroup // ranks that are connected

	mu    sync.Mutex // guards ended
	ended bool       // the ranks have been told to end
}

// newHost starts to serve the ranks of a meeting.
func newHost(m *meeting) *host {
	h := &host{meeting: m}
	h.server = NewServer(len(m.ranks), h.observe)
	h.left.Add(len(m.ranks))
	for rank := range m.ranks {
		go h.serve(rank)
	}
	return h
}

// serve serves a rank to its end.
func (h *host) serve(rank int) {
	defer h.left.Done()
	v := h.ranks[rank]
	err := h.server.Serve(rank, v)
	_ = v.conn.Close()
	if h.server.State(rank) == RankFinalized {
		h.server.Gone(rank, "")
		return
	}
	cause := "its process ended without leaving the job"
	if err != nil {
		cause = err.Error()
	}
	if h.first() {
		fmt.Fprintf(os.Stderr, "gorun: rank %d (host %s, pid %d) is lost: %s\n", rank, v.presence.host, v.presence.file.PID, cause)
	}
	if h.onFailure == OnFailureKill {
		h.end(fmt.Sprintf("rank %d is lost", rank)) // before Gone: without the rank a fence may be complete
	}
	h.server.Gone(rank, cause)
}

// observe acts on what a rank says. One that aborts the job has printed why.
func (h *host) observe(e Event) {
	if e.Kind == EventAborted {
		h.end(fmt.Sprintf("rank %d aborted the job with code %d: %s", e.Rank, e.Code, e.Text))
	}
}

// first reports whether the ranks have not been told to end.
func (h *host) first() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.ended
}

// end tells all ranks to end, once.
func (h *host) end(cause string) {
	h.mu.Lock()
	before := h.ended
	h.ended = true
	h.mu.Unlock()
	if !before {
		h.server.End(cause)
	}
}
