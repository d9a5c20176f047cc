package transporttest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

const (
	// partyMessages is the number of messages from each rank to each other.
	partyMessages = 60
	// partyOffer is the largest offer in bytes.
	partyOffer = 200_000
)

// party is one rank of the all-to-all test. It sends every peer a numbered
// stream of data and offers in random order, reads the offers of the others, and
// says what it has taken.
type party struct {
	*member
	random  *rand.Rand
	streams []stream
	// sent counts the messages to each peer, taken the offers taken from this
	// rank, given those that this rank made.
	sent         []uint64
	taken, given int
	offered      []transport.Key
	// kept are operations to drive again, in the order of each peer.
	kept [][]func() error
	// readings are the Gets under way by their token.
	readings map[uint64]reading
	// ended counts the ranks of the party that have finished.
	ended *atomic.Int32
}

// reading is an offer that is being taken.
type reading struct {
	peer   int
	number uint64
	dst    []byte
}

func newParty(m *member, random *rand.Rand, ended *atomic.Int32) *party {
	n := len(m.rig.ranks)
	p := &party{
		member: m, random: random, streams: make([]stream, n), sent: make([]uint64, n),
		kept: make([][]func() error, n), readings: map[uint64]reading{}, ended: ended,
	}
	m.onArrive = p.arrive
	return p
}

// run takes part until everything was sent, received and taken.
func (p *party) run() error {
	for round := range partyMessages * (len(p.rig.ranks) - 1) {
		peer := p.random.IntN(len(p.rig.ranks))
		for peer == p.rank || p.sent[peer] == partyMessages {
			peer = (peer + 1) % len(p.rig.ranks)
		}
		if err := p.sendOne(peer); err != nil {
			return fmt.Errorf("message %d: %w", round, err)
		}
	}
	if err := p.finish(); err != nil {
		return err
	}
	return p.linger()
}

// linger polls until all ranks have finished: what Send has accepted leaves with the
// polls of its rank if there was no room on the way.
func (p *party) linger() error {
	p.ended.Add(1)
	for deadline := time.Now().Add(p.rig.patience); int(p.ended.Load()) < len(p.rig.ranks); p.sleeper.Yield() {
		if p.rig.failed.Load() || time.Now().After(deadline) {
			return fmt.Errorf("rank %d: the others do not finish", p.rank)
		}
		p.poll()
	}
	return nil
}

// finish drives what is left. It does not sleep while an operation is kept, because room is
// not announced by a ring.
func (p *party) finish() error {
	for deadline := time.Now().Add(p.rig.patience); ; {
		if p.rig.failed.Load() || time.Now().After(deadline) {
			return fmt.Errorf("rank %d: given up at the end of the party: %s", p.rank, p.missing())
		}
		if err := p.reap(); err != nil {
			return err
		}
		busy, err := p.driveKept()
		if err != nil {
			return err
		}
		if p.finished() && !busy {
			return nil
		}
		events := 0
		step := func() bool {
			events++
			return events > 1
		}
		if busy {
			p.poll()
			p.sleeper.Yield()
		} else if err := p.wait("the party", step); err != nil {
			return err
		}
	}
}

// missing says what finished waits for.
func (p *party) missing() string {
	var peers []string
	for peer, s := range p.streams {
		if peer != p.rank && s.next < partyMessages {
			peers = append(peers, fmt.Sprintf("%d of %d from rank %d", s.next, partyMessages, peer))
		}
	}
	return fmt.Sprintf("received %v, %d of %d offers taken, %d reads under way", peers, p.taken, p.given, len(p.readings))
}

// finished reports whether all was received and taken.
func (p *party) finished() bool {
	for peer, s := range p.streams {
		if peer != p.rank && s.next < partyMessages {
			return false
		}
	}
	return p.taken == p.given && len(p.readings) == 0
}

// sendOne sends the next message to a peer: data or an offer.
func (p *party) sendOne(peer int) error {
	e, err := p.transport.Endpoint(peer)
	if err != nil {
		return err
	}
	number := p.sent[peer]
	p.sent[peer]++
	caps := e.Caps()
	h := transport.Header{A: number, C: kindData}
	payload := pattern(number, randomSize(p.random, caps.MaxEager))
	if caps.Get && p.random.IntN(3) == 0 {
		n := randomSize(p.random, partyOffer)
		k, err := p.transport.Expose(pattern(number, n), transport.AccessRead)
		if err != nil {
			return err
		}
		p.offered = append(p.offered, k)
		p.given++
		h.C = kindOffer
		payload = appendOffer(nil, k, n)
	}
	h.B = uint64(len(payload))
	return p.drive(func() error {
		if err := p.reap(); err != nil {
			return err
		}
		if _, err := p.driveKept(); err != nil {
			return err
		}
		return e.Send(h, payload)
	})
}

// arrive is the handler.
func (p *party) arrive(peer int, h transport.Header, payload []byte) {
	var err error
	switch h.C {
	case kindTaken:
		p.taken++
	case kindOffer:
		if h.A != p.streams[peer].next {
			err = fmt.Errorf("offer %d where %d was due", h.A, p.streams[peer].next)
		}
		p.streams[peer].next++
		k, n := parseOffer(payload)
		p.take(peer, h.A, k, n)
	default:
		err = p.streams[peer].take(h, payload)
	}
	if err != nil {
		p.rig.Errorf("rank %d from rank %d: %v", p.rank, peer, err)
		p.rig.failed.Store(true)
	}
}

// take begins to read an offer.
func (p *party) take(peer int, number uint64, k transport.Key, n int) {
	token, dst := p.nextToken(), make([]byte, n)
	p.readings[token] = reading{peer, number, dst}
	p.keep(peer, func(e transport.Endpoint) error { return e.Get(dst, k, token) })
}

// reap ends the readings that were completed.
func (p *party) reap() error {
	for token, got := range p.readings {
		c, ok := p.completions[token]
		if !ok {
			continue
		}
		delete(p.readings, token)
		if c.err != nil {
			return c.err
		}
		if !bytes.Equal(got.dst, pattern(got.number, len(got.dst))) {
			return fmt.Errorf("rank %d: offer %d of rank %d: other bytes than offered", p.rank, got.number, got.peer)
		}
		p.keep(got.peer, func(e transport.Endpoint) error { return e.Send(transport.Header{C: kindTaken}, nil) })
	}
	return nil
}

// keep queues an operation on a peer, to be driven outside of the handler.
func (p *party) keep(peer int, operation func(e transport.Endpoint) error) {
	p.kept[peer] = append(p.kept[peer], func() error {
		e, err := p.transport.Endpoint(peer)
		if err != nil {
			return err
		}
		return operation(e)
	})
}

// driveKept drives the kept operations and reports whether any remain.
func (p *party) driveKept() (bool, error) {
	remain := false
	for peer := range p.kept {
		for len(p.kept[peer]) > 0 {
			err := p.kept[peer][0]()
			if errors.Is(err, transport.ErrAgain) {
				remain = true
				break
			}
			if err != nil {
				return false, err
			}
			p.kept[peer] = p.kept[peer][1:]
		}
	}
	return remain, nil
}
