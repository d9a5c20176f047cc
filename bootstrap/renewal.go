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
	// Lost are the ranks that have ended and are started again, ascending, at least one. Cause is
	// the exit status of one in words, or why their node was lost.
	Lost  []int
	Cause string
	// Job is that of the rank that gets the renewal; it says the generation.
	Job Job
}

// ErrRenewed ends the operations of a session whose generation of the job is over, because a
// rank has ended: see [Session.Renew].
var ErrRenewed = errors.New("bootstrap: a rank has ended, and the job has a new generation")

// appendRenewal appends the body of a renew frame: 4 bytes length of the variables that describe
// the job to the rank, these, separated by zero bytes, 4 bytes number of the ranks that have ended, 4
// bytes each, cause.
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

// cutBytes takes 4 bytes count and so many elements of each bytes from the start of b.
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

// Next is the next generation of a job, as the server, or a relay, of a node begins it.
type Next struct {
	// Lost are the ranks that are started again, ascending, Cause why one was lost.
	Lost  []int
	Cause string
	// Generation is the number of the generation. Only a relay needs it: one may not have seen those before.
	Generation int
	// Warm reports whether the process of a lost rank has waited for its place, see [Session.Spare];
	// nil for never.
	Warm func(rank int) bool
	// Memory is the node memory of the generation, of which each rank here gets a descriptor, and
	// Shelf its part for the book.
	Memory *os.File
	Shelf  *Shelf
	// Describe returns the job of a rank here.
	Describe func(rank int) Job
	// Links are the ways to the ranks of other nodes, by what Link has returned, with their ranks;
	// Plan is what the relays there are told, see [Relay.OnRenewal]. Of a relay both are nothing.
	Links map[*Link][]int
	Plan  []byte
}

// lost reports whether a rank is started again, fresh whether as a new process.
func (n *Next) lost(rank int) bool {
	_, found := slices.BinarySearch(n.Lost, rank)
	return found
}

func (n *Next) fresh(rank int) bool {
	return n.lost(rank) && (n.Warm == nil || !n.Warm(rank))
}

// frames makes what the processes of some ranks here are told that do not begin with the generation.
// Either all have it, or there is an error and none.
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

// Renew begins the next generation of the job, in which the lost ranks are started again and all
// others rejoin. Their exchange, fences and reports begin anew; what they still send for an
// older generation is ignored. Renew returns false, and does nothing, if there is an error, or a rank
// has left the job or may be leaving it, because a fence is complete: then there is none to go on
// with. The caller serves the new processes with Serve.
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

// Renewable reports whether the job could have another generation if these ranks ended.
func (s *Server) Renewable(lost ...int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewable(lost)
}

// renewable is Renewable. Callers hold mu.
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

// Generation returns the number of the present generation.
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

// outdated reports whether a frame is of a generation that is over, and takes the frame by which
// a rank enters the present one. That a rank ends the job, or ends with an error, counts in any
// generation.
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

// pending is a renewal that the rank has not entered, with the node memory that it brings.
type pending struct {
	Renewal
	memory *os.File
}

// Spare reports whether the process was started before it had a place, and waited for that of a rank
// which is lost. Join returns when it has one.
func (s *Session) Spare() bool { return s.spare }

// Renewed returns a channel that is closed when the generation of the session is over. Renew
// makes another one.
func (s *Session) Renewed() <-chan struct{} {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.renewed
}

// Renewals returns a channel that has a value after each renewal: of several in a row, each of
// which is the end of another rank, there may be one.
func (s *Session) Renewals() <-chan struct{} { return s.renewals }

// Renewal returns why the generation of the session is over: nil if it is not.
func (s *Session) Renewal() *Renewal {
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.next == nil {
		return nil
	}
	r := s.next.Renewal
	return &r
}

// Renew enters the next generation of the job: Job, Memory and what they describe are those of
// it, and Exchange is to be called again. What belongs to the last generation must not be in use
// any more. Renew is called after Renewed was closed, and by one goroutine.
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

// rejoin says that what the rank sends from now on is of its generation.
func (s *Session) rejoin() error {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.rejoined = true
	return s.write(kindRejoin, binary.LittleEndian.AppendUint32(nil, uint32(s.job.Generation)))
}

// takeRenewal takes a renewal. A newer one replaces one that was not entered.
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
	// Answers to what this rank did in the generation that is over: it does not wait for them.
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
		case <-s.notices: // of ranks in the generation that is over
		default: // the World was faster
		}
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.next != nil && s.next.memory != nil {
		_ = s.next.memory.Close()
	}
	if s.next == nil {
		close(s.renewed)
	}
	s.next = &pending{r, memory}
	select {
	case s.renewals <- struct{}{}:
	default:
	}
	return nil
}
