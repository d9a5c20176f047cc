package bootstrap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// EventKind says what a rank did.
type EventKind uint8

// Kinds of events.
const (
	EventJoined    EventKind = iota + 1 // handed in its card
	EventAborted                        // ends the job with Code; Text is the reason
	EventFinalized                      // left on purpose
	EventReport                         // Text answers the dump of the number Code
	EventFailed                         // is about to end with the error Text; Origin is the rank whose failure it is, Lost the one whose loss it names
	EventHandled                        // the program has recovered from the loss of the rank Code
	EventStalled                        // has waited for some time; Text is its report
)

// Event is what a rank told its agent.
type Event struct {
	Kind   EventKind
	Rank   int
	Code   int
	Origin int
	// Lost is the rank whose loss ends a rank that has failed, -1 for none. It may not be known otherwise yet.
	Lost int
	Text string
	// Generation is that of the job in which a rank has failed: Origin may have been started again since.
	Generation int
}

// RankState is the stage that a rank has reached.
type RankState uint8

// States of a rank, in their order.
const (
	RankStarted RankState = iota
	RankJoined
	RankFinalized
	RankGone
)

// Server is the agent's half of the protocol for the ranks of a job. It owns
// no process and no descriptor: Serve is driven by one connection per rank,
// and answers leave through the same connection. Ranks of other nodes are served through
// the link to their node's [Relay]: their frames are handed to Take, and a frame to all
// ranks is written to each link once.
//
// Frames are 4 bytes length of the rest, 1 byte kind, body; little endian.
//
//	kind           from    body
//	1   card       rank    card
//	2   fence      rank    empty
//	3   abort      rank    4 bytes exit code, reason
//	4   finalize   rank    empty
//	5   report     rank    4 bytes number of the dump, text
//	6   failed     rank    4 bytes rank whose failure it is, 4 bytes rank that was lost or -1, error
//	7   handled    rank    4 bytes rank
//	8   cards      relay   packed cards of its ranks
//	9   stalled    rank    4 bytes 0, report
//	10  vote       rank    votes of itself
//	11  revoke     rank    revocation
//	12  poll       relay   votes of its ranks
//	13  rejoin     rank    4 bytes generation that the rank enters
//	16  book       agent   book
//	17  fence done agent   4 bytes number of complete fences
//	18  peer down  agent   4 bytes rank, cause
//	19  dump       agent   4 bytes number of the dump
//	20  end        agent   4 bytes 0, cause: only where no agent can send signals
//	21  packed     server  packed book, to relays
//	22  shelved    agent   8 bytes length of the book on the node's shelf
//	23  decided    agent   decision, to all ranks of nodes that have a member
//	24  revoked    agent   revocation
//	25  renew      agent   see appendRenewal; the node memory's descriptor goes with it
type Server struct {
	events func(Event)

	mu      sync.Mutex // orders the frames to the ranks; guards the rest
	members []member
	near    []int // ranks without a link, but for those that have ended; nil before the first frame to all
	links   []*Link
	shelf   *Shelf // of the server's own node, nil for none
	missing int    // ranks that have neither a card nor are gone
	books   uint32 // of the generation, that were sent
	fences  uint32 // complete for every rank
	active  int    // ranks that take part in fences
	behind  int    // of these, ranks that have called no other fence
	council *Council
	// generation counts the calls of Renew.
	generation int
}

// member is the agent's view of one rank.
type member struct {
	state  RankState
	card   []byte
	fences uint32
	// stale says that the rank has not rejoined since the last Renew, as new processes do, too: what
	// comes from it is of an older generation.
	stale bool
	// generation is that of the job which the rank is in.
	generation int
	out        *outlet // unused when linked
	linked     *Link   // nil for a rank that Serve is called for
}

// NewServer returns the server of a job of size ranks. events is called from
// the goroutines in Serve, in the order of the rank's frames; it may call the
// server's methods.
func NewServer(size int, events func(Event)) *Server {
	s := &Server{events: events, members: make([]member, size), missing: size, active: size, behind: size, council: NewCouncil(size)}
	for i := range s.members {
		s.members[i].out = &outlet{}
	}
	return s
}

// Serve reads the frames of a rank until its connection ends. It returns nil
// at the end of the stream between two frames; any other end is an error.
func (s *Server) Serve(rank int, conn io.ReadWriter) error {
	s.mu.Lock()
	out := s.members[rank].out
	s.mu.Unlock()
	out.connect(conn)
	return readFrames(rank, conn, func(k kind, body []byte) error { return s.take(rank, k, body) })
}

// readFrames calls take with the frames of a rank until its connection ends or take fails.
func readFrames(rank int, conn io.Reader, take func(k kind, body []byte) error) error {
	r := bufio.NewReaderSize(conn, 512)
	for {
		k, body, err := readFrame(r, rankFrameMax)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = take(k, body)
		}
		if err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
	}
}

// Take acts on one frame of a linked rank, as Relay's up function got it.
func (s *Server) Take(rank int, frame []byte) error {
	if len(frame) == 0 {
		return fmt.Errorf("rank %d: bootstrap: frame without a kind: %w", rank, ErrMalformed)
	}
	switch kind(frame[0]) {
	case kindCards:
		return s.takeCards(rank, frame[1:])
	case kindPoll:
		return s.takePoll(rank, frame[1:])
	default:
	}
	if err := s.take(rank, kind(frame[0]), frame[1:]); err != nil {
		return fmt.Errorf("rank %d: %w", rank, err)
	}
	return nil
}

// State returns the stage that a rank has reached.
func (s *Server) State(rank int) RankState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members[rank].state
}

// Gone says that a rank has ended and was reaped. Fences and the exchange no
// longer wait for it. Unless it had finalized, the other ranks are notified of the cause.
func (s *Server) Gone(rank int, cause string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.members[rank]
	was := m.state
	if was == RankGone {
		return
	}
	s.leave(m)
	m.reach(RankGone)
	m.out.drop()
	if was != RankFinalized {
		body := numbered(rank, cause)
		s.tell(kindPeerDown, body, RankStarted)
		s.decided(s.council.Died(rank)...)
	}
	if was == RankStarted {
		s.arrived()
	}
	s.fence()
}

// Formed reports whether the book of the generation has been sent: every rank has handed in its card, or has
// ended.
func (s *Server) Formed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missing <= 0
}

// Dump asks every joined rank for a report and returns how many were asked. The answers have
// the number, by which those to an earlier dump are told apart.
func (s *Server) Dump(number int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := 0
	for i := range s.members {
		if s.members[i].state == RankJoined {
			asked++
		}
	}
	s.tell(kindDump, numbered(number, ""), RankJoined)
	return asked
}

// End tells every connected rank to end, where nobody can send it a signal.
func (s *Server) End(cause string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(kindEnd, numbered(0, cause), RankStarted)
}

// take acts on one frame of a rank.
func (s *Server) take(rank int, k kind, body []byte) error {
	e := Event{Rank: rank}
	if old, err := s.outdated(rank, k, body); old || err != nil {
		return err
	}
	var err error
	switch k {
	case kindCard:
		e.Kind, err = EventJoined, s.takeCard(rank, body)
	case kindFence:
		err = s.takeFence(rank, body)
	case kindFinalize:
		e.Kind, err = EventFinalized, s.takeFinalize(rank, body)
	case kindVote:
		err = s.takeVote(rank, body)
	case kindRevoke:
		err = s.takeRevoke(rank, body)
	case kindAbort:
		e.Kind = EventAborted
		e.Code, e.Text, err = parseNumbered(body)
	case kindReport:
		e.Kind = EventReport
		e.Code, e.Text, err = parseNumbered(body)
	case kindStalled:
		e.Kind = EventStalled
		_, e.Text, err = parseNumbered(body)
	case kindFailed:
		e.Kind, e.Generation = EventFailed, s.generationOf(rank)
		if e.Origin, e.Lost, e.Text, err = parseFailed(body); err == nil && (e.Origin < 0 || max(e.Origin, e.Lost) >= len(s.members)) {
			err = fmt.Errorf("bootstrap: failure of rank %d by the loss of %d of %d: %w", e.Origin, e.Lost, len(s.members), ErrMalformed)
		}
	case kindHandled:
		e.Kind = EventHandled
		e.Code, e.Text, err = parseNumbered(body)
		if err == nil && (e.Code < 0 || e.Code >= len(s.members) || e.Text != "") {
			err = fmt.Errorf("bootstrap: loss of rank %d of %d handled: %w", e.Code, len(s.members), ErrMalformed)
		}
	case kindCards, kindPoll, kindBook, kindFenceDone, kindPeerDown, kindDump, kindEnd, kindPacked, kindShelved, kindDecided, kindRevoked, kindRejoin, kindRenew:
		fallthrough
	default:
		err = fmt.Errorf("bootstrap: frame of kind %d from a rank: %w", k, ErrMalformed)
	}
	if err == nil && e.Kind != 0 {
		s.events(e)
	}
	return err
}

func (s *Server) takeCard(rank int, body []byte) error {
	c, n, err := ParseCard(body)
	if err != nil {
		return err
	}
	if n != len(body) || c.Rank != rank {
		return fmt.Errorf("bootstrap: card of rank %d, %d bytes of %d: %w", c.Rank, n, len(body), ErrMalformed)
	}
	return s.accept(rank, body)
}

// accept takes a card that is well-formed.
func (s *Server) accept(rank int, card []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.members[rank]
	switch {
	case m.stale:
		return nil // it was gathered with those of others
	case m.state == RankGone && m.linked != nil && m.card == nil:
		return nil // it has ended while its card was gathered
	case m.state != RankStarted:
		return fmt.Errorf("bootstrap: second card: %w", ErrMalformed)
	}
	m.card = card
	m.reach(RankJoined)
	s.arrived()
	return nil
}

func (s *Server) takeFinalize(rank int, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.members[rank]
	if m.stale {
		return nil
	}
	if len(body) != 0 || m.state > RankJoined {
		return fmt.Errorf("bootstrap: finalize of %d bytes after %d: %w", len(body), m.state, ErrMalformed)
	}
	if m.state == RankStarted {
		s.arrived()
	}
	s.leave(m)
	m.reach(RankFinalized)
	s.decided(s.council.Left(rank)...)
	s.fence()
	return nil
}

// arrived counts a rank that the book need not wait for any longer, and sends
// the book after the last. Callers hold mu.
func (s *Server) arrived() {
	s.missing--
	if s.missing > 0 {
		return
	}
	if s.active == 0 {
		return // all have ended, and nobody reads a book
	}
	cards := make([][]byte, len(s.members))
	for i := range s.members {
		cards[i], s.members[i].card = s.members[i].card, nil
	}
	s.publish(cards)
}

// tell sends a frame to every connected rank that has reached the state from, and to the
// other ranks of its node if it is linked. Callers hold mu. It costs no look at each rank of
// the world: when many ranks are lost at once, there is a frame for each of them.
func (s *Server) tell(k kind, body []byte, from RankState) {
	frame := appendFrame(nil, k, body)
	if s.near == nil {
		s.near = make([]int, 0, len(s.members))
		for rank := range s.members {
			if s.members[rank].linked == nil {
				s.near = append(s.near, rank)
			}
		}
	}
	s.near = slices.DeleteFunc(s.near, func(rank int) bool { return s.members[rank].state > RankJoined })
	for _, rank := range s.near {
		if m := &s.members[rank]; m.state >= from {
			m.out.push(frame)
		}
	}
	for _, l := range s.links {
		if l.has(from) {
			l.out.push(frame)
		}
	}
}
