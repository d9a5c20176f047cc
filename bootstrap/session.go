package bootstrap

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// NoticeKind is the subject of a notice.
type NoticeKind uint8

// Kinds of notices.
const (
	// PeerDown: rank Notice.Rank has ended and was reaped, or the connection to the rank or to its host was
	// lost. Cause is the exit status or the reason in words. A session gets at most one such notice per rank
	// and generation.
	PeerDown NoticeKind = iota + 1
	// Dump: this rank has to call Report with Notice.Number and a description of its blocked operations.
	Dump
	// Decided: Decision is the result of an agreement. The PeerDown notices of the ranks that Decision.Epoch
	// counts come before the notice Decided.
	Decided
	// Revoked: a rank has broken a communicator, see Revocation. A session may get this notice more than once
	// for a communicator, and also for communicators of which its rank is not a member.
	Revoked
	// AgentLost: the connection to the agent broke, and Cause says how. The ranks of the agent are about to
	// be killed.
	AgentLost
)

// Notice is an event that a session reports to its rank through the channel of Notices. All notices except
// AgentLost come from the agent.
type Notice struct {
	Kind   NoticeKind
	Rank   int // PeerDown only
	Number int // Dump only
	Cause  string
	// Decision is set in a notice Decided, and Revocation is set in a notice Revoked.
	Decision   *Decision
	Revocation *Revocation
}

// ErrAgentLost is the error of the operations of a session whose agent was lost.
var ErrAgentLost = errors.New("bootstrap: connection to the node agent lost")

// errNoAgent is the error of Vote, Revoke and Fail in a world of one rank, and of Fail under another launcher.
var errNoAgent = errors.New("bootstrap: there is no node agent")

// dumpsMax is the number of waiting notices at which a further notice Dump is dropped.
const dumpsMax = 4

// Session is a rank's membership in its job. Its methods may be called from any goroutine. Only one goroutine
// may call Renew.
type Session struct {
	secret [32]byte
	conn   io.ReadWriteCloser // nil in a world of one

	books   chan *Book    // gets one value in each generation: the book, which is the answer to the card
	notices chan Notice   // closed at the end of the connection to the agent
	lost    chan struct{} // closed after lostErr is set
	lostErr error
	down    []bool   // by rank: PeerDown has arrived in this generation; only listen and its callees use it
	behind  *backlog // of notices, nil for none; only listen and its callees use it

	sending sync.Mutex // serializes writes of frames; guards the fields below
	job     Job
	memory  *os.File
	shelf   []byte // mapped memory that has the book of the node, nil for none
	carded  bool   // Exchange was called in this generation
	// rejoined is true after the first rejoin frame. A process that replaces a lost rank and was not a spare
	// sends this frame in Exchange. A spare, and a process that was started in the first generation, sends it
	// in Renew.
	rejoined bool
	leaving  bool          // Finalize was called
	left     chan struct{} // closed when leaving is set
	next     *pending      // the newest renewal, nil if the generation is not over
	renewed  chan struct{} // closed when next is set
	// renewals gets a value when next is set or replaced. It holds one value.
	renewals chan struct{}

	away    selfReliant // nil under an agent of gorun
	spare   bool        // the process was started as a spare
	fencing sync.Mutex  // held during a call of Fence or Renew, so that these calls follow one another; guards fences
	fences  uint32      // fences called so far in this generation
	fenced  chan uint32 // holds the newest number of complete fences that has arrived
}

// NewSecret returns random bytes as the secret of a new job.
func NewSecret() (s [32]byte) {
	_, _ = rand.Read(s[:]) // never fails
	return s
}

// Attach makes a session from its parts, as Join does from the environment. If conn is nil, the session is a
// world of one rank, and job must describe such a world. The session owns conn. memory may be nil.
func Attach(job Job, conn io.ReadWriteCloser, memory *os.File, secret [32]byte) *Session {
	s := newSession(job, conn, memory, secret)
	if conn != nil {
		go s.listen()
	}
	return s
}

// newSession makes a session. The caller starts listen.
func newSession(job Job, conn io.ReadWriteCloser, memory *os.File, secret [32]byte) *Session {
	s := &Session{
		job: job, conn: conn, memory: memory, secret: secret,
		books:   make(chan *Book, 1),
		lost:    make(chan struct{}),
		left:    make(chan struct{}),
		fenced:  make(chan uint32, 1),
		renewed: make(chan struct{}), renewals: make(chan struct{}, 1),
	}
	if conn == nil {
		s.notices = make(chan Notice)
		return s
	}
	// The channel has room for dumpsMax dumps, one PeerDown per rank, and AgentLost. A dump is dropped
	// if dumpsMax notices are waiting. Other notices go to a backlog if the channel is full.
	s.notices = make(chan Notice, job.Size+dumpsMax+1)
	s.down = make([]bool, job.Size)
	return s
}

// Job returns the identity of this rank in the session's generation of the job.
func (s *Session) Job() Job {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.job
}

// Secret returns the job secret, which all ranks of the job know.
func (s *Session) Secret() [32]byte { return s.secret }

// Notices returns the channel of notices. The channel is closed after Finalize or AgentLost. In a world of
// one, it has no values and is never closed.
func (s *Session) Notices() <-chan Notice { return s.notices }

// Lost returns a channel that is closed when the connection to the agent has ended. In a world of one, it
// is never closed.
func (s *Session) Lost() <-chan struct{} { return s.lost }

// Card returns this rank's card without the fields of an RDMA provider (Provider, Addresses and Data).
func (s *Session) Card() Card {
	job := s.Job()
	return Card{Rank: job.Rank, PID: os.Getpid(), Slot: job.LocalRank, Node: job.Node, Host: job.Host}
}

// Exchange hands in this rank's card. It returns the book of all cards when every rank has handed in its
// card, has left or is down. Exchange may be called once in each generation of the job. If the generation
// ends before Exchange returns, the error is ErrRenewed.
func (s *Session) Exchange(ctx context.Context, c Card) (*Book, error) {
	c.Rank = s.Job().Rank
	body, err := c.Append(make([]byte, 0, c.Len()))
	if err != nil {
		return nil, err
	}
	s.sending.Lock()
	again, late := s.carded, s.job.Generation > 0 && !s.rejoined
	s.carded = true
	renewed := s.renewed
	s.sending.Unlock()
	if again {
		return nil, errors.New("bootstrap: second Exchange of a session")
	}
	if s.conn == nil {
		return parseBook(appendBook(nil, [][]byte{body}))
	}
	if late {
		err = s.rejoin()
	}
	if err := cmp.Or(err, s.send(kindCard, body)); err != nil {
		return nil, err
	}
	select {
	case b := <-s.books:
		return b, nil
	case <-s.lost:
		return nil, s.lostErr
	case <-renewed:
		return nil, ErrRenewed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Fence returns when every rank that is neither down nor finalized has called Fence at least as many times as
// this rank. Only calls in this generation of the job count, including calls that ended with the context's
// error. If the generation ends before Fence returns, the error is ErrRenewed.
func (s *Session) Fence(ctx context.Context) error {
	if s.conn == nil {
		return ctx.Err()
	}
	s.fencing.Lock()
	defer s.fencing.Unlock()
	s.fences++
	renewed := s.Renewed()
	if err := s.send(kindFence, nil); err != nil {
		return err
	}
	for {
		select {
		case done := <-s.fenced:
			if int32(done-s.fences) >= 0 {
				return nil
			}
		case <-s.lost:
			return s.lostErr
		case <-renewed:
			return ErrRenewed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Abort tells the agent that this rank ends the job with an exit code, and the reason. The launcher reports
// the reason, and the agent ends the other ranks. If another launcher has started the rank, there is no
// agent. Abort then prints the reason itself and informs rank 0. If that launcher offers a PMI connection,
// Abort also informs the launcher. The caller must exit with the same code after Abort. Abort ignores errors,
// because the process is about to exit.
func (s *Session) Abort(code int, reason string) {
	if s.away != nil { // before send, because rank 0 may end this process as soon as rank 0 knows of the abort
		s.away.abort(s.Job().Rank, code, reason)
	}
	_ = s.send(kindAbort, numbered(code, reason))
}

// Finalize tells the agent that this rank leaves the job on purpose, and closes the session. A rank that ends
// without Finalize has failed, even if its exit code is 0.
func (s *Session) Finalize() error {
	if s.conn == nil {
		return nil
	}
	err := s.send(kindFinalize, nil)
	s.sending.Lock()
	if !s.leaving {
		s.leaving = true
		close(s.left)
	}
	s.sending.Unlock()
	err = errors.Join(err, s.conn.Close())
	if s.away != nil {
		err = errors.Join(err, s.away.finalize())
	}
	return err
}

// send sends a frame. In a world of one it does nothing.
func (s *Session) send(k kind, body []byte) error {
	if s.conn == nil {
		return nil
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.write(k, body)
}

// write sends a frame. If the session is finalized, write sends nothing and returns an error. Callers hold
// sending, and conn is not nil.
func (s *Session) write(k kind, body []byte) error {
	if s.leaving {
		return errors.New("bootstrap: session is finalized")
	}
	if _, err := s.conn.Write(appendFrame(nil, k, body)); err != nil {
		return fmt.Errorf("%w: %w", ErrAgentLost, err)
	}
	return nil
}

// listen acts on the frames of the agent until the connection ends.
func (s *Session) listen() {
	defer close(s.notices)
	from, files := newPassage(s.conn)
	defer files.close()
	r := bufio.NewReaderSize(from, 512)
	for {
		k, body, err := readFrame(r, agentFrameMax(len(s.down)))
		switch {
		case err != nil:
		case k == kindRenew:
			err = s.takeRenewal(body, files)
		default:
			err = s.take(k, body)
		}
		if err == nil {
			continue
		}
		s.sending.Lock()
		leaving := s.leaving
		s.sending.Unlock()
		s.lostErr = fmt.Errorf("%w: %w", ErrAgentLost, err)
		close(s.lost)
		_ = s.conn.Close() // after a malformed frame, the connection is no longer used
		if !leaving {
			s.pass(Notice{Kind: AgentLost, Cause: err.Error()})
			if s.away != nil {
				s.away.end()
			}
		}
		if s.behind != nil {
			<-s.behind.stopped
		}
		return
	}
}

// pass puts a notice into the channel. If the channel is full, or if a backlog still has earlier notices,
// pass puts the notice into a backlog. It never waits for the receiver.
func (s *Session) pass(n Notice) {
	if s.behind != nil && s.behind.add(n) {
		return
	}
	select {
	case s.notices <- n:
	default:
		s.behind = newBacklog(n, s.notices, s.left)
	}
}

// take acts on one frame of the agent.
func (s *Session) take(k kind, body []byte) error {
	switch k {
	case kindBook, kindShelved:
		b, err := s.bookOf(k, body)
		if err != nil {
			return err
		}
		if b.Size() != len(s.down) {
			return fmt.Errorf("bootstrap: book of %d ranks in a world of %d: %w", b.Size(), len(s.down), ErrMalformed)
		}
		select {
		case s.books <- b:
		default:
			return fmt.Errorf("bootstrap: second book: %w", ErrMalformed)
		}
	case kindFenceDone:
		if len(body) != 4 {
			return fmt.Errorf("bootstrap: fence of %d bytes: %w", len(body), ErrMalformed)
		}
		select {
		case <-s.fenced: // drop the result of an older fence, whose caller has not waited for it
		default:
		}
		s.fenced <- binary.LittleEndian.Uint32(body)
	case kindPeerDown:
		rank, cause, err := parseNumbered(body)
		if err != nil {
			return err
		}
		if rank < 0 || rank >= len(s.down) || s.down[rank] {
			return fmt.Errorf("bootstrap: rank %d of %d is down: %w", rank, len(s.down), ErrMalformed)
		}
		s.down[rank] = true
		s.pass(Notice{Kind: PeerDown, Rank: rank, Cause: cause})
	case kindDecided:
		d, err := parseDecision(body, len(s.down))
		if err != nil {
			return err
		}
		s.pass(Notice{Kind: Decided, Decision: d})
	case kindRevoked:
		r, err := parseRevocation(body, len(s.down))
		if err != nil {
			return err
		}
		s.pass(Notice{Kind: Revoked, Revocation: r})
	case kindDump:
		number, rest, err := parseNumbered(body)
		if err != nil || rest != "" {
			return fmt.Errorf("bootstrap: dump of %d bytes: %w", len(body), ErrMalformed)
		}
		if len(s.notices) < dumpsMax {
			s.pass(Notice{Kind: Dump, Number: number})
		}
	case kindEnd:
		if s.away == nil {
			return fmt.Errorf("bootstrap: an agent does not send signals in frames: %w", ErrMalformed)
		}
		s.away.end()
	case kindCard, kindFence, kindAbort, kindFinalize, kindReport, kindFailed, kindHandled, kindStalled, kindVote, kindRevoke, kindPoll, kindCards, kindPacked, kindRejoin, kindRenew:
		fallthrough
	default:
		return fmt.Errorf("bootstrap: frame of kind %d from the agent: %w", k, ErrMalformed)
	}
	return nil
}
