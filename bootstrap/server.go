package bootstrap

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
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
	EventReport                         // Text answers a dump
	EventFailed                         // is about to end with the error Text; Origin is the rank whose failure it is
	EventHandled                        // the program has recovered from the loss of the rank Code
)

// Event is what a rank told its agent.
type Event struct {
	Kind   EventKind
	Rank   int
	Code   int
	Origin int
	Text   string
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
//	5   report     rank    4 bytes 0, text
//	6   failed     rank    4 bytes rank whose failure it is, error
//	7   handled    rank    4 bytes rank
//	8   cards      relay   packed cards of its ranks
//	16  book       agent   book
//	17  fence done agent   4 bytes number of complete fences
//	18  peer down  agent   4 bytes rank, cause
//	19  dump       agent   empty
//	20  end        agent   4 bytes 0, cause: only where no agent can send signals
//	21  packed     server  packed book, to relays
//	22  shelved    agent   8 bytes length of the book on the node's shelf
type Server struct {
	events func(Event)

	mu      sync.Mutex // orders the frames to the ranks; guards the rest
	members []member
	links   []link
	shelf   *Shelf // of the server's own node, nil for none
	missing int    // ranks that have neither a card nor are gone
	books   uint32 // that were sent
	fences  uint32 // complete for every rank
	active  int    // ranks that take part in fences
	behind  int    // of these, ranks that have called no other fence
}

// member is the agent's view of one rank.
type member struct {
	state  RankState
	card   []byte
	fences uint32
	out    outlet // unused when linked
	linked bool
}

// link is the way to the ranks of another node.
type link struct {
	ranks []int
	out   *outlet
}

// NewServer returns the server of a job of size ranks. events is called from
// the goroutines in Serve, in the order of the rank's frames; it may call the
// server's methods.
func NewServer(size int, events func(Event)) *Server {
	return &Server{events: events, members: make([]member, size), missing: size, active: size, behind: size}
}

// Serve reads the frames of a rank until its connection ends. It returns nil
// at the end of the stream between two frames; any other end is an error.
func (s *Server) Serve(rank int, conn io.ReadWriter) error {
	s.members[rank].out.connect(conn)
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

// Link makes conn the way to some ranks, all of one node, for which Serve is not
// called then. What is written to conn are whole frames for Relay.Tell; a slow conn delays
// no other rank. Link is called before the first frame of these ranks is taken.
func (s *Server) Link(ranks []int, conn io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &outlet{}
	out.connect(conn)
	for _, rank := range ranks {
		s.members[rank].linked = true
	}
	s.links = append(s.links, link{ranks: ranks, out: out})
}

// Take acts on one frame of a linked rank, as Relay's up function got it.
func (s *Server) Take(rank int, frame []byte) error {
	if len(frame) == 0 {
		return fmt.Errorf("rank %d: bootstrap: frame without a kind: %w", rank, ErrMalformed)
	}
	if kind(frame[0]) == kindCards {
		return s.takeCards(frame[1:])
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
	m.state = RankGone
	m.out.drop()
	if was != RankFinalized {
		body := numbered(rank, cause)
		s.tell(kindPeerDown, body, RankStarted)
	}
	if was == RankStarted {
		s.arrived()
	}
	s.fence()
}

// Dump asks every joined rank for a report and returns how many were asked.
func (s *Server) Dump() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := 0
	for i := range s.members {
		if s.members[i].state == RankJoined {
			asked++
		}
	}
	s.tell(kindDump, nil, RankJoined)
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
	var err error
	switch k {
	case kindCard:
		e.Kind, err = EventJoined, s.takeCard(rank, body)
	case kindFence:
		err = s.takeFence(rank, body)
	case kindFinalize:
		e.Kind, err = EventFinalized, s.takeFinalize(rank, body)
	case kindAbort:
		e.Kind = EventAborted
		e.Code, e.Text, err = parseNumbered(body)
	case kindReport:
		e.Kind = EventReport
		_, e.Text, err = parseNumbered(body)
	case kindFailed:
		e.Kind = EventFailed
		if e.Origin, e.Text, err = parseNumbered(body); err == nil && (e.Origin < 0 || e.Origin >= len(s.members)) {
			err = fmt.Errorf("bootstrap: failure of rank %d of %d: %w", e.Origin, len(s.members), ErrMalformed)
		}
	case kindHandled:
		e.Kind = EventHandled
		e.Code, e.Text, err = parseNumbered(body)
		if err == nil && (e.Code < 0 || e.Code >= len(s.members) || e.Text != "") {
			err = fmt.Errorf("bootstrap: loss of rank %d of %d handled: %w", e.Code, len(s.members), ErrMalformed)
		}
	case kindCards, kindBook, kindFenceDone, kindPeerDown, kindDump, kindEnd, kindPacked, kindShelved:
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
	case m.state == RankGone && m.linked && m.card == nil:
		return nil // it has ended while its card was gathered
	case m.state != RankStarted:
		return fmt.Errorf("bootstrap: second card: %w", ErrMalformed)
	}
	m.state, m.card = RankJoined, card
	s.arrived()
	return nil
}

func (s *Server) takeFence(rank int, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.members[rank]
	if len(body) != 0 || m.state > RankJoined {
		return fmt.Errorf("bootstrap: fence of %d bytes after %d: %w", len(body), m.state, ErrMalformed)
	}
	if m.fences == s.fences {
		s.behind--
	}
	m.fences++
	s.fence()
	return nil
}

func (s *Server) takeFinalize(rank int, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.members[rank]
	if len(body) != 0 || m.state > RankJoined {
		return fmt.Errorf("bootstrap: finalize of %d bytes after %d: %w", len(body), m.state, ErrMalformed)
	}
	if m.state == RankStarted {
		s.arrived()
	}
	s.leave(m)
	m.state = RankFinalized
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
	cards := make([][]byte, len(s.members))
	for i := range s.members {
		cards[i], s.members[i].card = s.members[i].card, nil
	}
	s.publish(cards)
}

// leave takes a rank out of the fences. Callers hold mu.
func (s *Server) leave(m *member) {
	if m.state > RankJoined {
		return
	}
	s.active--
	if m.fences == s.fences {
		s.behind--
	}
}

// fence tells the ranks when a fence is complete for all that take part.
// Callers hold mu.
func (s *Server) fence() {
	if s.active == 0 || s.behind > 0 {
		return
	}
	low := uint32(math.MaxUint32)
	for i := range s.members {
		m := &s.members[i]
		switch {
		case m.state > RankJoined:
		case m.fences < low:
			low, s.behind = m.fences, 1
		case m.fences == low:
			s.behind++
		}
	}
	s.fences = low
	s.tell(kindFenceDone, binary.LittleEndian.AppendUint32(nil, low), RankStarted)
}

// tell sends a frame to every connected rank that has reached the state from, and to the
// other ranks of its node if it is linked. Callers hold mu.
func (s *Server) tell(k kind, body []byte, from RankState) {
	frame := appendFrame(nil, k, body)
	there := func(rank int) bool { return s.members[rank].state >= from && s.members[rank].state <= RankJoined }
	for rank := range s.members {
		if m := &s.members[rank]; !m.linked && there(rank) {
			m.out.push(frame)
		}
	}
	for _, l := range s.links {
		if slices.ContainsFunc(l.ranks, there) {
			l.out.push(frame)
		}
	}
}
