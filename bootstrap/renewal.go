package bootstrap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Renewal is the beginning of the next generation of a job, after a rank has ended.
type Renewal struct {
	// Lost is the rank that has ended and is started again, Cause its exit status in words.
	Lost  int
	Cause string
	// Job is that of the rank that gets the renewal; it says the generation.
	Job Job
}

// ErrRenewed ends the operations of a session whose generation of the job is over, because a
// rank has ended: see [Session.Renew].
var ErrRenewed = errors.New("bootstrap: a rank has ended, and the job has a new generation")

// appendRenewal appends the body of a renew frame: 4 bytes length of the variables that describe
// the job to the rank, these, separated by zero bytes, 4 bytes rank that has ended, cause.
func appendRenewal(b []byte, r Renewal) []byte {
	job := strings.Join(r.Job.Environ(), "\x00")
	b = binary.LittleEndian.AppendUint32(b, uint32(len(job)))
	return append(append(b, job...), numbered(r.Lost, r.Cause)...)
}

// parseRenewal is the inverse of appendRenewal.
func parseRenewal(b []byte) (r Renewal, err error) {
	if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
		return r, fmt.Errorf("bootstrap: renewal of %d bytes: %w", len(b), ErrMalformed)
	}
	n := 4 + int(binary.LittleEndian.Uint32(b))
	variables := map[string]string{}
	for v := range strings.SplitSeq(string(b[4:n]), "\x00") {
		name, value, _ := strings.Cut(v, "=")
		variables[name] = value
	}
	if r.Job, err = ParseJob(func(name string) string { return variables[name] }); err != nil {
		return r, fmt.Errorf("%w: %w", err, ErrMalformed)
	}
	r.Lost, r.Cause, err = parseNumbered(b[n:])
	if err == nil && (r.Lost < 0 || r.Lost >= r.Job.Size) {
		err = fmt.Errorf("bootstrap: rank %d of %d is lost: %w", r.Lost, r.Job.Size, ErrMalformed)
	}
	return r, err
}

// Renew begins the next generation of the job, in which the rank lost is started again and all
// others rejoin. Their exchange, fences and reports begin anew; what they still send for an
// older generation is ignored. Renew returns false, and does nothing, if a rank has left the
// job or may be leaving it, because a fence is complete: then there is none to go on with. The
// caller serves the new process with Serve.
//
// memory is the node memory of the new generation, of which each rank gets a descriptor, and
// shelf its part for the book. describe returns the job of a rank.
func (s *Server) Renew(lost int, cause string, memory *os.File, shelf *Shelf, describe func(rank int) Job) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.renewable(lost) {
		return false, nil
	}
	s.generation++
	for rank := range s.members {
		m := &s.members[rank]
		if rank == lost {
			m.out.drop()
			m.out, m.stale = &outlet{}, false
		} else {
			file, err := duplicate(memory)
			if err != nil {
				return true, err
			}
			m.stale = true
			body := appendRenewal(nil, Renewal{Lost: lost, Cause: cause, Job: describe(rank)})
			m.out.pushWith(appendFrame(nil, kindRenew, body), file)
		}
		m.reach(RankStarted)
		m.card, m.fences = nil, 0
	}
	s.shelf.close()
	s.shelf, s.near, s.council = shelf, nil, NewCouncil(len(s.members))
	s.missing, s.active, s.behind, s.fences = len(s.members), len(s.members), len(s.members), 0
	return true, nil
}

// Renewable reports whether the job could have another generation if this rank ended.
func (s *Server) Renewable(lost int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewable(lost)
}

// renewable is Renewable. Callers hold mu.
func (s *Server) renewable(lost int) bool {
	if s.fences > 0 {
		return false
	}
	for rank := range s.members {
		if m := &s.members[rank]; m.state > RankJoined && rank != lost || m.linked != nil {
			return false
		}
	}
	return s.members[lost].state <= RankJoined
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
		m.stale = int(binary.LittleEndian.Uint32(body)) != s.generation
		return true, nil
	}
	return m.stale && k != kindAbort && k != kindFailed, nil
}

// pending is a renewal that the rank has not entered, with the node memory that it brings.
type pending struct {
	Renewal
	memory *os.File
}

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
	return s.send(kindRejoin, binary.LittleEndian.AppendUint32(nil, uint32(next.Job.Generation)))
}

// takeRenewal takes a renewal. A newer one replaces one that was not entered.
func (s *Session) takeRenewal(body []byte, files *passage) error {
	r, err := parseRenewal(body)
	memory := files.take()
	if err == nil && (r.Job.Size != s.Job().Size || r.Job.Rank != s.Job().Rank) {
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
