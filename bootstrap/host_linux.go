//go:build !portable

package bootstrap

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// host is the server of a job of another launcher, after its ranks have met. It runs in rank 0.
type host struct {
	*meeting
	server *Server
	left   sync.WaitGroup // counts the connected ranks

	mu    sync.Mutex // guards ended
	ended bool       // the ranks have been told to end
}

// newHost starts to serve all ranks of a meeting, rank 0 included.
func newHost(m *meeting) *host {
	h := &host{meeting: m}
	h.server = NewServer(len(m.ranks), h.observe)
	h.left.Add(len(m.ranks))
	for rank := range m.ranks {
		go h.serve(rank)
	}
	return h
}

// serve serves a rank until its connection ends. If the rank has not left the job before, serve handles the
// loss of the rank.
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
	if err != nil && !errors.Is(err, unix.ECONNRESET) { // the connection is reset if the process had not read all frames
		cause = err.Error()
	}
	if h.first() {
		fmt.Fprintf(os.Stderr, "gorun: rank %d (host %s, pid %d) is lost: %s\n", rank, v.presence.host, v.presence.file.PID, cause)
	}
	if h.onFailure == OnFailureKill {
		h.end(fmt.Sprintf("rank %d is lost", rank)) // end is called before Gone, because Gone may complete a fence
	}
	h.server.Gone(rank, cause)
}

// observe acts on the events of a rank. If a rank aborts the job, observe ends the job. observe prints no
// reason, because the rank that aborts has printed the reason itself.
func (h *host) observe(e Event) {
	if e.Kind == EventAborted {
		h.end(fmt.Sprintf("rank %d aborted the job with code %d: %s", e.Rank, e.Code, e.Text))
	}
}

// first reports whether end has not been called yet.
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
