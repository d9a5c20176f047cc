package bootstrap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Renewal is the beginning of the next generation of a job, after a rank has ended.
type Renewal struct {
	// Lost has the ranks that have ended and are started again, at once or when a host has room for them. It has
	// at least one rank and is ascending. Cause is the exit status of the first of these ranks in words, or the
	// reason why its node was lost.
	Lost  []int
	Cause string
	// Job is the identity, in the next generation, of the rank that gets the renewal.
	Job Job
}

// ErrRenewed is the error of operations of a session after the end of its generation of the job. A generation
// ends when ranks have ended and the next generation begins, see [Session.Renew].
var ErrRenewed = errors.New("bootstrap: a rank has ended, and the job has a new generation")

// appendRenewal appends the body of a renew frame:
//
//	4 bytes   length of the variables
//	          variables that describe the job to the rank, separated by zero bytes
//	4 bytes   number of ranks that have ended
//	4 bytes   each of these ranks
//	          cause
func appendRenewal(b []byte, r Renewal) []byte {
	job := strings.Join(r.Job.Environ(), "\x00")
	b = binary.LittleEndian.AppendUint32(b, uint32(len(job)))
	b = binary.LittleEndian.AppendUint32(append(b, job...), uint32(len(r.Lost)))
	for _, rank := range r.Lost {
		b = binary.LittleEndian.AppendUint32(b, uint32(rank))
	}
	return append(b, clip(r.Cause, reportBytesMax)...)
}

// parseRenewal is the inverse of appendRenewal.
func parseRenewal(b []byte) (r Renewal, err error) {
	job, rest, ok := cutBytes(b, 1)
	if !ok {
		return r, fmt.Errorf("bootstrap: renewal of %d bytes: %w", len(b), ErrMalformed)
	}
	variables := map[string]string{}
	for v := range strings.SplitSeq(string(job), "\x00") {
		name, value, _ := strings.Cut(v, "=")
		variables[name] = value
	}
	if r.Job, err = ParseJob(func(name string) string { return variables[name] }); err != nil {
		return r, fmt.Errorf("%w: %w", err, ErrMalformed)
	}
	lost, cause, ok := cutBytes(rest, 4)
	if !ok || len(lost) == 0 {
		return r, fmt.Errorf("bootstrap: renewal of %d bytes, after %d of the job: %w", len(b), len(job), ErrMalformed)
	}
	for ; len(lost) > 0; lost = lost[4:] {
		rank := int(binary.LittleEndian.Uint32(lost))
		if rank >= r.Job.Size || len(r.Lost) > 0 && rank <= r.Lost[len(r.Lost)-1] {
			return r, fmt.Errorf("bootstrap: rank %d of %d is lost after %v: %w", rank, r.Job.Size, r.Lost, ErrMalformed)
		}
		r.Lost = append(r.Lost, rank)
	}
	r.Cause = clip(string(cause), reportBytesMax)
	return r, nil
}

// cutBytes splits b into elements and the rest. b begins with the number of elements (4 bytes). The elements
// follow. The parameter each is the length of one element in bytes. ok is false if b is too short.
func cutBytes(b []byte, each uint64) (elements, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := uint64(binary.LittleEndian.Uint32(b)) * each
	if n > uint64(len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n], b[4+n:], true
}

// Next describes the next generation of a job to the server or the relay of a node.
type Next struct {
	// Lost has the ranks that have ended and are started again (see Renewal), ascending. Cause is the reason why
	// one of them was lost.
	Lost  []int
	Cause string
	// Generation is the number of the next generation. Only a relay needs it, because a relay may have missed
	// earlier generations.
	Generation int
	// Warm reports whether the new process of a lost rank is a spare, see [Session.Spare]. Warm may be nil if
	// no new process is a spare.
	Warm func(rank int) bool
	// Memory is the node memory of the next generation. Each rank of this node gets a descriptor of the
	// memory. Shelf is the part of the memory for the book.
	Memory *os.File
	Shelf  *Shelf
	// Describe returns the identity of a rank of this node.
	Describe func(rank int) Job
	// Links maps each link to the ranks of other nodes that it reaches. The server sends Plan to the relays
	// of these links, see [Relay.OnRenewal]. Relay.Renew uses neither Links nor Plan.
	Links map[*Link][]int
	Plan  []byte
}

// lost reports whether a rank is started again.
func (n *Next) lost(rank int) bool {
	_, found := slices.BinarySearch(n.Lost, rank)
	return found
}

// fresh reports whether a rank is started again in a new process, not in a spare.
func (n *Next) fresh(rank int) bool {
	return n.lost(rank) && (n.Warm == nil || !n.Warm(rank))
}

// frames returns a renew frame for each of the given ranks of this node. Fresh ranks get no frame, because
// their processes begin in the next generation. If an error occurs, frames returns only the error.
func (n *Next) frames(ranks []int) (map[int]parcel, error) {
	all := make(map[int]parcel, len(ranks))
	for _, rank := range ranks {
		if n.fresh(rank) {
			continue
		}
		file, err := duplicate(n.Memory)
		if err != nil {
			for _, p := range all {
				p.release()
			}
			return nil, err
		}
		body := appendRenewal(nil, Renewal{Lost: n.Lost, Cause: n.Cause, Job: n.Describe(rank)})
		all[rank] = parcel{appendFrame(nil, kindRenew, body), file}
	}
	return all, nil
}

// Renew begins the next generation of the job. The lost ranks are started again, and all other ranks rejoin.
// The exchange, fences and reports begin anew. Except for abort and failed frames, the server
// ignores frames that ranks still send for an older generation. Renew returns false and does nothing if an
// error occurs or if n.Lost is empty. It also does so if a rank has left the job, if Gone was called for a
// rank, or if a fence is complete. A complete fence prevents a renewal because ranks may be leaving the
// job, and the lost ranks would then have no peers. The caller serves the new processes with Serve.
func (s *Server) Renew(n Next) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.renewable(n.Lost) {
		return false, nil
	}
	linked := map[int]*Link{}
	for l, ranks := range n.Links {
		for _, rank := range ranks {
			linked[rank] = l
		}
	}
	var here []int
	for rank := range s.members {
		if linked[rank] == nil {
			here = append(here, rank)
		}
	}
	frames, err := n.frames(here)
	if err != nil {
		return false, err
	}
	s.generation++
	s.relink(n.Links, n.Plan)
	for rank := range s.members {
		m := &s.members[rank]
		if n.lost(rank) {
			m.out.drop()
			m.out = &outlet{}
			m.generation = s.generation
		}
		m.stale = true
		if p, told := frames[rank]; told {
			m.out.pushWith(p.frames, p.file)
		}
		m.linked = linked[rank]
		m.state = RankStarted
		m.card, m.fences = nil, 0
	}
	s.shelf.close()
	s.shelf, s.near, s.council = n.Shelf, nil, NewCouncil(len(s.members))
	s.missing, s.active, s.behind, s.fences, s.books = len(s.members), len(s.members), len(s.members), 0, 0
	return true, nil
}

// Renewable reports whether Renew could begin another generation if these ranks ended.
func (s *Server) Renewable(lost ...int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewable(lost)
}

// renewable does the work of Renewable. Callers hold mu.
func (s *Server) renewable(lost []int) bool {
	if s.fences > 0 {
		return false
	}
	for rank := range s.members {
		if m := &s.members[rank]; m.state > RankJoined {
			return false
		}
	}
	return len(lost) > 0
}

// Generation returns the number of the current generation.
func (s *Server) Generation() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generation
}

// generationOf returns the generation that a rank is in.
func (s *Server) generationOf(rank int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members[rank].generation
}

// outdated reports whether the caller has to ignore a frame. It returns true for a frame that the rank sent
// in an earlier generation, except for an abort frame and a failed frame. It also returns true for a rejoin
// frame, because outdated itself acts on that frame.
func (s *Server) outdated(rank int, k kind, body []byte) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.members[rank]
	switch {
	case k == kindRejoin && (len(body) != 4 || !m.stale):
		return true, fmt.Errorf("bootstrap: rejoin of %d bytes: %w", len(body), ErrMalformed)
	case k == kindRejoin:
		m.generation = int(binary.LittleEndian.Uint32(body))
		m.stale = m.generation != s.generation
		return true, nil
	}
	return m.stale && k != kindAbort && k != kindFailed, nil
}

// pending is a renewal that the rank has not yet entered with Renew, and the node memory that came with the
// renewal.
type pending struct {
	Renewal
	memory *os.File
}

// Spare reports whether the process was started as a spare. A spare waits in Join until it gets the place of
// a lost rank.
func (s *Session) Spare() bool { return s.spare }

// Renewed returns a channel that is closed when the generation of the session is over. Renew replaces
// the channel by a new one.
func (s *Session) Renewed() <-chan struct{} {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.renewed
}

// Renewals returns a channel that gets a value after each renewal. The channel holds only one value, even
// after several renewals.
func (s *Session) Renewals() <-chan struct{} { return s.renewals }

// Renewal returns the newest renewal, or nil if the generation of the session is not over. Its Lost also has the
// ranks that have ended before earlier renewals that this rank has not entered.
func (s *Session) Renewal() *Renewal {
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.next == nil {
		return nil
	}
	r := s.next.Renewal
	return &r
}

// Renew enters the newest generation of the job. From then on, Job and Memory return the job and the node
// memory of that generation, and Exchange has to be called again. The caller must have stopped using
// everything that belongs to the previous generation. Only one goroutine may call Renew, and only after the
// channel of Renewed is closed.
func (s *Session) Renew() error {
	s.fencing.Lock()
	defer s.fencing.Unlock()
	s.sending.Lock()
	next := s.next
	if next == nil {
		s.sending.Unlock()
		return errors.New("bootstrap: the generation of the job is not over")
	}
	s.next, s.renewed, s.carded, s.fences = nil, make(chan struct{}), false, 0
	s.sending.Unlock()
	memory, shelf, err := next.open()
	if err != nil {
		return err
	}
	s.sending.Lock()
	s.job, s.memory, s.shelf = next.Job, memory, shelf
	s.sending.Unlock()
	return s.rejoin()
}

// Memory returns the node memory. It returns nil if there is none, as in a world of one. The session does not
// close this file. The caller may close it after mapping it.
func (s *Session) Memory() *os.File {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.memory
}

// rejoin tells the agent that all later frames of this rank belong to the session's generation.
func (s *Session) rejoin() error {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.rejoined = true
	return s.write(kindRejoin, binary.LittleEndian.AppendUint32(nil, uint32(s.job.Generation)))
}

// takeRenewal records a renewal. The new renewal replaces an earlier one that the rank has not entered, and gets its
// lost ranks.
func (s *Session) takeRenewal(body []byte, files *passage) error {
	r, err := parseRenewal(body)
	memory := files.take()
	if own := s.Job(); err == nil && (r.Job.Size != own.Size || r.Job.Rank != own.Rank && !s.Spare()) {
		err = fmt.Errorf("bootstrap: renewal of rank %d of %d: %w", r.Job.Rank, r.Job.Size, ErrMalformed)
	}
	if err != nil {
		if memory != nil {
			_ = memory.Close()
		}
		return err
	}
	// Discard answers to calls of this rank in the generation that is over.
	select {
	case <-s.books:
	default:
	}
	select {
	case <-s.fenced:
	default:
	}
	clear(s.down)
	if s.behind != nil {
		s.behind.drop()
		s.behind = nil
	}
	for len(s.notices) > 0 {
		select {
		case <-s.notices: // discard a notice of the generation that is over
		default: // the receiver of Notices has taken the notice meanwhile
		}
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.next == nil {
		close(s.renewed)
	} else {
		if s.next.Lost[0] < r.Lost[0] {
			r.Cause = s.next.Cause
		}
		r.Lost = append(r.Lost, s.next.Lost...)
		slices.Sort(r.Lost)
		r.Lost = slices.Compact(r.Lost)
		if s.next.memory != nil {
			_ = s.next.memory.Close()
		}
	}
	s.next = &pending{r, memory}
	select {
	case s.renewals <- struct{}{}:
	default:
	}
	return nil
}
