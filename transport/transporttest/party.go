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
	// partyMessages is the number of messages (data and offers, see party) that each rank sends to each
	// other rank.
	partyMessages = 60
	// partyOffer is the length in bytes of the largest offered memory.
	partyOffer = 200_000
)

// party is one rank of the all-to-all test. It sends to each peer a numbered stream of data and offers. It chooses
// the next peer and the kind of message at random. An offer names exposed memory. The receiver of an
// offer reads that memory by Get, and then sends a message of kindTaken.
type party struct {
	*member
	random  *rand.Rand
	streams []stream
	// sent counts the messages to each peer. given counts the offers that this rank has sent. taken counts the
	// offers of this rank that the receivers have read.
	sent         []uint64
	taken, given int
	offered      []transport.Key
	// kept[peer] is a queue of operations on that peer. driveKept starts them in order.
	kept [][]func() error
	// readings holds the Gets of offers that are queued or in progress, by token.
	readings map[uint64]reading
	// ended counts the ranks of the party that have finished.
	ended *atomic.Int32
}

// reading is the Get of an offer.
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

// run sends this rank's messages, and polls until all messages of all ranks were received and all
// offers were read.
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
	return p.linger(p.ended)
}

// finish polls until this rank has received all messages and all its offers were read. It does not sleep while
// kept has an operation, because a transport need not ring when the lane has room again.
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

// missing describes what the method finish still waits for.
func (p *party) missing() string {
	var peers []string
	for peer, s := range p.streams {
		if peer != p.rank && s.next < partyMessages {
			peers = append(peers, fmt.Sprintf("%d of %d from rank %d", s.next, partyMessages, peer))
		}
	}
	return fmt.Sprintf("received %v, %d of %d offers taken, %d reads under way", peers, p.taken, p.given, len(p.readings))
}

// finished reports whether this rank has received all messages and read all offers to it, and
// whether the receivers have read all offers of this rank.
func (p *party) finished() bool {
	for peer, s := range p.streams {
		if peer != p.rank && s.next < partyMessages {
			return false
		}
	}
	return p.taken == p.given && len(p.readings) == 0
}

// sendOne sends the next message to a peer. If the transport has Get, the message is an offer with
// a probability of 1/3. Otherwise the message is data.
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

// arrive processes one message. It is the member's onArrive.
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

// take queues the Get of an offer.
func (p *party) take(peer int, number uint64, k transport.Key, n int) {
	token, dst := p.nextToken(), make([]byte, n)
	p.readings[token] = reading{peer, number, dst}
	p.keep(peer, func(e transport.Endpoint) error { return e.Get(dst, k, token) })
}

// reap checks the bytes of the Gets that have completed, and queues a message of kindTaken for each of them.
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

// keep queues an operation on a peer. driveKept starts the operation outside of the handler.
func (p *party) keep(peer int, operation func(e transport.Endpoint) error) {
	p.kept[peer] = append(p.kept[peer], func() error {
		e, err := p.transport.Endpoint(peer)
		if err != nil {
			return err
		}
		return operation(e)
	})
}

// driveKept starts the kept operations of each peer in order, until one returns ErrAgain. It
// reports whether operations remain in kept.
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
