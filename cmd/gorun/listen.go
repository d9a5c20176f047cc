package main

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// listen handles the frames of an agent until the agent has finished its work or is lost.
func (h *host) listen() {
	defer close(h.readDone)
	var err error
	for {
		var k link.Kind
		var body []byte
		k, body, err = h.receive()
		if err == nil && k == link.KindDone {
			break
		}
		if err == nil {
			err = h.take(k, body)
		}
		if err != nil {
			break
		}
	}
	// No more frames of this host's ranks will arrive.
	if err != nil {
		h.giveUp(errors.New(h.ending(err)))
	}
	h.quit()
	h.input.close()
	h.endStreams()
	if err != nil {
		h.job.lost <- h
	}
}

// endStreams ends the frames and the output of all ranks of the host. After the loss of the host, no rank is added
// any more (see admit).
func (h *host) endStreams() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.ranks {
		ended := r.drained()
		if !ended {
			close(r.served)
		}
		for _, s := range r.streams {
			if s != nil {
				if ended && !slices.Contains(h.cut, r) {
					h.cut = append(h.cut, r)
				}
				h.job.out.feed(s, nil)
			}
		}
	}
}

// take acts on one frame of a running agent.
func (h *host) take(k link.Kind, body []byte) error {
	switch k {
	case link.KindUp, link.KindOutput, link.KindOutputEnd:
		t, rest, err := link.ParseTarget(body)
		r := h.rank(t.Rank)
		if err != nil || r == nil {
			return fmt.Errorf("frame of kind %d of rank %d: %w", k, t.Rank, errors.Join(err, link.ErrMalformed))
		}
		if k != link.KindUp {
			return h.output(r, t.Stream, rest, k == link.KindOutputEnd)
		}
		if r.drained() {
			return fmt.Errorf("frame of rank %d after its end: %w", r.number, link.ErrMalformed)
		}
		if err := h.job.server.Take(r.number, rest); errors.Is(err, bootstrap.ErrMalformed) {
			h.job.news <- news{Event: bootstrap.Event{Rank: r.number}, err: err}
		}
		h.taken(len(rest))
	case link.KindCredit:
		_, n, err := link.ParseAmount(body)
		if err == nil && !h.input.give(n) {
			err = fmt.Errorf("credit of %d bytes of input: %w", n, link.ErrMalformed)
		}
		return err
	case link.KindExit:
		x, err := link.Decode[link.Exit](body)
		r := h.rank(x.Rank)
		if err != nil || r == nil {
			return fmt.Errorf("end of rank %d: %w", x.Rank, errors.Join(err, link.ErrMalformed))
		}
		return h.exit(r, x)
	case link.KindSeen:
		return h.seen(body)
	case link.KindRenewed:
		n, err := link.Decode[link.Renewed](body)
		if err == nil {
			for _, p := range n.Ranks {
				h.job.out.announce(p.Number, h.name, p.PID)
			}
			select {
			case h.job.again <- renewal{h, time.Now(), n}:
			case <-h.job.watch.ended:
			}
		}
		return err
	case link.KindSpareEnded:
		s, err := link.Decode[link.SpareEnded](body)
		if err == nil {
			h.missed(s)
		}
		return err
	default:
		return fmt.Errorf("frame of kind %d from an agent: %w", k, link.ErrMalformed)
	}
	return nil
}

// seen passes on the contents of the flight recorders of the host's ranks, which its agent has sent.
func (h *host) seen(body []byte) error {
	s, err := link.Decode[link.Seen](body)
	if err != nil {
		return err
	}
	for _, r := range s.Records {
		if h.rank(r.Rank) == nil {
			return fmt.Errorf("record of rank %d: %w", r.Rank, link.ErrMalformed)
		}
	}
	select {
	case h.job.watch.seen <- s:
	case <-h.job.watch.ended:
	}
	return nil
}

// taken adds n to the number of received bytes of the ranks' frames. It gives the agent credit for these bytes
// only when their number is large.
func (h *host) taken(n int) {
	if h.due += n; h.due >= link.WindowBytes/4 {
		h.conn.Send(link.KindCredit, link.Target{}.Append(nil), link.Amount(h.due))
		h.due = 0
	}
}

// rank returns the rank of the host that has this number, or nil if the host has no such rank.
func (h *host) rank(number int) *rank {
	ranks := h.all()
	i, ok := slices.BinarySearchFunc(ranks, number, func(r *rank, n int) int { return r.number - n })
	if !ok {
		return nil
	}
	return ranks[i]
}

// all returns the ranks of the host. The list is not changed later.
func (h *host) all() []*rank {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ranks
}

// output passes a piece of a rank's output to job.out. If end is true, the stream ends.
func (h *host) output(r *rank, from link.Stream, data []byte, end bool) error {
	which := streamOut
	if from == link.Stderr {
		which = streamErr
	}
	s := r.streams[which]
	switch {
	case s == nil || from == link.Stdin:
		return fmt.Errorf("rank %d has no stream %d: %w", r.number, from, link.ErrMalformed)
	case end:
		h.job.out.feed(s, nil)
		r.streams[which] = nil // no more output can follow
	case !s.room.take(len(data)):
		return fmt.Errorf("output of rank %d exceeds the window of stream %d: %w", r.number, from, link.ErrMalformed)
	case len(data) > 0:
		h.job.out.feed(s, data)
	}
	return nil
}

// exit passes the end of a rank to the goroutine that supervises the job.
func (h *host) exit(r *rank, x link.Exit) error {
	if r.drained() {
		return fmt.Errorf("second end of rank %d: %w", r.number, link.ErrMalformed)
	}
	close(r.served)
	// The time of the end is from the clock of this machine, because the clocks of other machines may differ
	// from it.
	h.job.node.exits <- exit{
		rank: r, at: time.Now(), status: syscall.WaitStatus(x.Status),
		usage: unix.Rusage{Utime: unix.NsecToTimeval(x.User * 1000), Stime: unix.NsecToTimeval(x.System * 1000), Maxrss: x.MaxRSSKiB},
		last:  x.Last,
	}
	return nil
}

// lostHost acts on the loss of a host. The agent of the host ends its ranks if the agent still runs.
func (j *job) lostHost(h *host) {
	if h.via != nil && h.via.reason() != nil {
		j.lostHost(h.via) // the host above is the cause
	}
	if j.opts.respawns() {
		j.heardOut()
	}
	// Frames that arrived before the loss are handled first.
	for len(j.news) > 0 {
		j.handle(<-j.news)
	}
	for len(j.node.exits) > 0 {
		j.reaped(<-j.node.exits)
	}
	lost := j.strand(h)
	if len(lost) == 0 {
		j.restock() // the host may have had spares
		return
	}
	if !j.watch.ending || j.verdict.interrupt != 0 {
		var numbers []int
		for _, r := range lost {
			numbers = append(numbers, r.number)
		}
		f := failure{rank: -1, code: exitLauncher, ended: lost, how: fmt.Sprintf("host %s is lost with %s: %v", h.name, bootstrap.NameRanks(numbers), h.reason())}
		if j.respawn(lost, &f) {
			return
		}
		j.failed(f, f.how)
	}
	for _, r := range lost {
		j.gone(r)
	}
}

// blameCuts records a failure for each rank that has ended well on a host that was lost before all output of the
// rank had arrived. It is called after all output was written.
func (j *job) blameCuts() {
	for _, r := range j.ranks {
		if h := r.remote; h != nil && r.clean && slices.Contains(h.cut, r) {
			how := fmt.Sprintf("host %s was lost before all output of rank %d had arrived: %v", h.name, r.number, h.reason())
			j.verdict.blame(failure{rank: -1, code: exitLauncher, how: how})
		}
	}
}

// heardOut waits until nothing more is received from any lost host, including the hosts below a lost host in
// the tree. It waits at most dismissDelay. The ranks of these hosts may then be started again elsewhere. A
// late frame that ends the output of the old process of a rank would otherwise end the output of the new
// process.
func (j *job) heardOut() {
	late := time.After(dismissDelay)
	for _, h := range j.hosts {
		for done := h.alive(); !done; {
			select {
			case <-h.readDone:
				done = true
			case n := <-j.news:
				j.handle(n)
			case x := <-j.node.exits:
				j.reaped(x)
			case n := <-j.again:
				j.begun(n)
			case m := <-j.absent:
				j.missed(m)
			case s := <-j.watch.seen:
				j.recorded(s)
			case <-late:
				return
			}
		}
	}
}

// strand records the loss of the ranks of a lost host, and returns these ranks. If lost ranks are started
// again, strand includes the ranks of all other lost hosts, among them the hosts below this host in the tree.
// All these ranks are then started again together.
func (j *job) strand(h *host) []*rank {
	ranks := h.all()
	if j.opts.respawns() {
		ranks = slices.DeleteFunc(slices.Clone(j.ranks), func(r *rank) bool { return r.remote.alive() })
	}
	var lost []*rank
	for _, r := range ranks {
		if r.running() {
			r.lost, r.ended, r.clean = h.reason().Error(), time.Now(), false
			j.watch.running--
			lost = append(lost, r)
		}
	}
	return lost
}

// inputThere determines the hosts to which job.run sends standard input: those whose ranks get it.
func (j *job) inputThere(kept []*host) {
	only := j.opts.inputRank()
	if inherit, feed := newStdin(j.opts.stdin, only); inherit == nil && feed == nil {
		j.opts.stdin = stdinNone
		return
	}
	var to []*host
	for _, h := range kept {
		if j.opts.stdin == stdinAll || h == j.ranks[only].remote {
			to = append(to, h)
		}
	}
	j.input = to
}

// inputMode returns which ranks of the host get the standard input.
func (h *host) inputMode() link.InputMode {
	switch {
	case !slices.Contains(h.job.input, h):
		return link.InputNone
	case h.job.opts.stdin == stdinAll:
		return link.InputAll
	default:
		return link.InputOne
	}
}

// sendInput copies standard input to hosts, no faster than the slowest of them reads it. It returns at the
// end of the input, or when no host takes input any more. A read of standard input cannot be canceled. Therefore
// sendInput may also last until the process ends.
func sendInput(to []*host) {
	buf := make([]byte, link.ChunkBytesMax)
	for {
		room, wanted := len(buf), false
		for _, h := range to {
			if n := h.input.wait(); n > 0 {
				room, wanted = min(room, n), true
			}
		}
		if !wanted {
			return
		}
		n, err := readInput(buf[:room])
		for _, h := range to {
			if n <= 0 || err != nil {
				h.conn.Send(link.KindInputEnd)
				continue
			}
			h.input.take(n) // fails only for a lost host: only this goroutine takes
			h.conn.Send(link.KindInput, buf[:n])
		}
		if n <= 0 || err != nil {
			return
		}
	}
}
