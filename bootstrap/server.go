package bootstrap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// EventKind is the kind of an Event.
type EventKind uint8

// Kinds of events.
const (
	EventJoined    EventKind = iota + 1 // the rank has handed in its card
	EventAborted                        // the rank ends the job with Code; Text is the reason
	EventFinalized                      // the rank has left the job on purpose
	EventReport                         // Text is the answer to the dump with the number Code
	EventFailed                         // the rank is about to end with the error Text, caused by rank Origin
	EventHandled                        // the program has recovered from the loss of the rank with the number Code
	EventStalled                        // the rank has been waiting for some time; Text is its report
)

// Event is a message of a rank to its agent.
type Event struct {
	Kind   EventKind
	Rank   int
	Code   int
	Origin int
	// Lost is the rank whose loss has ended the rank of EventFailed, or -1. This event may be the first
	// report of that loss to the agent.
	Lost int
	Text string
	// Generation is the generation in which the rank of EventFailed was. The rank Origin may already have
	// been started again in a later generation.
	Generation int
}

// RankState is the stage that a rank has reached.
type RankState uint8

// States of a rank, in the order in which it reaches them.
const (
	RankStarted RankState = iota
	RankJoined
	RankFinalized
	RankGone
)

// Server is the agent's half of the protocol for the ranks of a job. It starts no processes. Serve reads the
// connection of one rank, and the server writes the frames for the rank to the same connection. The server
// reaches a rank that has a [Link] through this link to the [Relay] of the rank's node. The caller passes the
// frames of linked ranks to Take. The server writes a frame for all ranks once to each link.
//
// A frame is 4 bytes length of the rest (little endian), 1 byte kind, and the body.
//
//	kind           from    body
//	1   card       rank    card
//	2   fence      rank    empty
//	3   abort      rank    4 bytes exit code, reason
//	4   finalize   rank    empty
//	5   report     rank    4 bytes number of the dump, text
//	6   failed     rank    4 bytes rank that has caused the failure, 4 bytes lost rank or -1, error
//	7   handled    rank    4 bytes rank whose loss was handled
//	8   cards      relay   packed cards of its ranks
//	9   stalled    rank    4 bytes 0, report
//	10  vote       rank    poll with its own vote
//	11  revoke     rank    revocation
//	12  poll       relay   poll with votes of its ranks
//	13  rejoin     rank    4 bytes generation that the rank enters
//	16  book       agent   book
//	17  fence done agent   4 bytes number of complete fences
//	18  peer down  agent   4 bytes rank, cause
//	19  dump       agent   4 bytes number of the dump
//	20  end        agent   4 bytes 0, cause; only in jobs in which no agent can send signals
//	21  packed     server  packed book, to relays
//	22  shelved    agent   8 bytes length of the book on the node's shelf
//	23  decided    agent   decision, to the members; a relay passes it on to all of its ranks
//	24  revoked    agent   revocation
//	25  renew      agent   see appendRenewal; the descriptor of the node memory is passed with it
//	               server  Next.Plan, to relays
type Server struct {
	events func(Event)

	mu      sync.Mutex // orders the frames to the ranks; guards the fields below
	members []member   // by rank
	near    []int      // ranks without a link; tell removes those that ended or left; nil until tell sets it
	links   []*Link
	shelf   *Shelf // of the server's own node, nil for none
	missing int    // number of ranks that have neither handed in a card nor left nor ended
	books   uint32 // number of books sent in this generation
	fences  uint32 // number of complete fences
	active  int    // number of ranks that take part in fences
	behind  int    // number of ranks that take part in fences and have not called the next fence
	council *Council
	// generation is the number of successful calls of Renew.
	generation int
}

// member is the agent's view of one rank.
type member struct {
	state  RankState
	card   []byte
	fences uint32
	// stale is true from Renew until the rank, or its new process, has rejoined. Until then, the rank's
	// frames belong to an older generation.
	stale bool
	// generation is the generation of the job that the rank is in.
	generation int
	out        *outlet // unused when linked
	linked     *Link   // nil for a rank for which Serve is called
}

// NewServer returns the server of a job of size ranks. Serve and Take call the function events, in the order
// of the frames of each rank. This function may call the server's methods.
func NewServer(size int, events func(Event)) *Server {
	s := &Server{events: events, members: make([]member, size), missing: size, active: size, behind: size, council: NewCouncil(size)}
	for i := range s.members {
		s.members[i].out = &outlet{}
	}
	return s
}

// Serve reads the frames of a rank until its connection ends. It returns nil if the stream ends between two
// frames, otherwise an error.
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

// Take acts on one frame of a linked rank. frame is the frame without its length, in the form in which a
// Relay passes a frame to its function up.
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

// Gone records that a rank has ended and was reaped, or that the connection to the rank or to its host was
// lost. Fences and the exchange no longer wait for it. If the rank had not finalized, Gone notifies the other
// ranks of the cause.
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

// Formed reports whether the exchange of the generation is complete. The exchange is complete when every rank
// has handed in its card, has left or has ended. At that time, the server sends the book to all ranks that
// have neither left nor ended.
func (s *Server) Formed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missing <= 0
}

// Dump asks every joined rank for a report, and returns these ranks, ascending. Other ranks of their nodes may
// answer, too. The answers contain the parameter number, by which the caller distinguishes them from answers to an
// earlier dump.
func (s *Server) Dump(number int) (asked []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rank := range s.members {
		if s.members[rank].state == RankJoined {
			asked = append(asked, rank)
		}
	}
	s.tell(kindDump, numbered(number, ""), RankJoined)
	return asked
}

// End tells every rank that has neither left nor ended to end. Callers use End in jobs in which no agent can
// send signals to the ranks.
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

// accept records a well-formed card.
func (s *Server) accept(rank int, card []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.members[rank]
	switch {
	case m.stale:
		return nil // the card is of an older generation; a relay has sent it together with cards of other ranks
	case m.state == RankGone && m.linked != nil && m.card == nil:
		return nil // the rank has ended while a relay gathered cards
	case m.state != RankStarted:
		return fmt.Errorf("bootstrap: second card of the rank: did two processes join the job as this rank? %w", ErrMalformed)
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

// arrived counts a rank for which the exchange need no longer wait. After the last such rank, it sends the
// book. Callers hold mu.
func (s *Server) arrived() {
	s.missing--
	if s.missing > 0 {
		return
	}
	if s.active == 0 {
		return // all ranks have ended or left, and no rank would read the book
	}
	cards := make([][]byte, len(s.members))
	for i := range s.members {
		cards[i], s.members[i].card = s.members[i].card, nil
	}
	s.publish(cards)
}

// tell sends a frame to every rank that has reached a state and has neither left nor ended. The parameter from
// is this state. If a link has such a rank, tell sends the frame to the link, and so to all ranks of the link.
// Callers hold mu. tell does not visit linked ranks one by one, because tell is called for each lost rank, and
// many ranks may be lost at once.
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
