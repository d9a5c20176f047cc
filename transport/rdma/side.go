package rdma

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/stripe"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// side is the side connection with a peer. It is a second connection, which uses, at both ranks, other
// adapters than the connection in use. It carries parts of long Gets and Puts of this rank. The peer has
// another side connection for its own Gets and Puts. The first long transfer requests the side
// connection, and the side connection lasts as long as the connection in use. If the side connection is
// lost, no operation fails, because the lost parts are transferred on the connection in use (package
// stripe).
//
// A recordKey asks the owner of memory for the key on the adapter of the side connection. A frame of kind
// frameMark, called a mark, follows the Writes of a Put. The owner answers the mark by a recordMarked.
// After a loss of the side connection, a recordClose asks the owner to close its end, because Writes may
// still arrive until the owner has closed its end.
type side struct {
	line  stripe.Line
	judge *stripe.Judge
	link  *link
	// reading and writing are the numbers of Reads and Writes in flight. depth is the ORD of the
	// side connection.
	reading, writing, depth int
	// marks are the Puts whose marks are not answered yet, oldest first.
	marks []*operation
	// next is the earliest time at which a side connection may be requested again, and pause is the duration
	// of the last wait. since is the time at which the side connection was established. why is the reason
	// for which there is no side connection.
	next, since time.Time
	pause       time.Duration
	why         error
	// carried is the number of bytes that all side connections have carried.
	carried int
}

const (
	// sideMost is the maximum number of Reads of striped transfers in flight on each of the two connections.
	sideMost = 4
	// sidesMost bounds the number of side connections of an adapter.
	sidesMost = 64
	// answersMax bounds the records that wait to be sent to a peer. These are one answer for each
	// operation of the peer, the answers to recordKeys (bulk.keys), to marks, to recordClose and to
	// recordLeave, and this rank's own recordClose. Records for a side connection that was replaced are
	// dropped (supersede).
	answersMax = 2*operationsMax + credit.UpdateReserve + 3
)

// stripeConfig holds the parameters of striping. Tests use other values.
type stripeConfig struct {
	// A transfer is called striped if both connections carry parts of it. above is the minimum length in
	// bytes of a striped transfer. chunk is the maximum length of a part in bytes. trial is the number
	// of bytes of each measurement of the speed, with the connection in use alone or with both connections.
	// Both connections are used if their rate together exceeds gain times the rate of the connection in use
	// alone.
	above, chunk, trial int
	gain                float64
}

// stripeDefault is used outside of tests. Striping a transfer that is shorter than 2 MiB (the field above) would
// have little effect, because most parts would be posted before the key for the side connection is known.
var stripeDefault = stripeConfig{above: 2 << 20, chunk: 512 << 10, trial: 32 << 20, gain: stripe.Gain}

func newSide(t *Transport) side {
	if !t.stripes {
		return side{}
	}
	return side{judge: stripe.NewJudge(t.stripe.trial, t.stripe.gain)}
}

// striped reports whether the rail carries stripes, that is, parts of striped transfers. A rail over TCP carries
// none, because TCP takes processor time, which RDMA adapters save, and because TCP mostly uses the port of one
// of the RDMA adapters.
func (r *rail) striped() bool { return r.config.Fabric != FabricTCP }

// now returns the time since an arbitrary origin.
func (t *Transport) now() time.Duration { return time.Since(t.batches.base) }

// want requests a side connection if there is no side connection and the pause after the last
// request is over.
func (s *side) want(p *endpoint) {
	if !s.line.Idle() || time.Now().Before(s.next) || p.link == nil || !s.line.Want() {
		return
	}
	p.t.supervision.send(sideWanted{peer: p.peer, used: p.link})
}

// refused records that the side connection was not established.
func (s *side) refused(p *endpoint, err error) {
	s.line.Refused()
	s.wait(p, err)
}

// wait sets the time of the next attempt. The pause doubles from one attempt to the next.
func (s *side) wait(p *endpoint, err error) {
	least := p.t.config.Recovery
	if s.pause = min(2*s.pause, pauseRatio*least); s.pause < least {
		s.pause = least
	}
	s.next, s.why = time.Now().Add(s.pause), err
}

// attach puts an established side connection in use. If the connection in use has changed since the side
// connection was requested, both connections may be on the same adapter. So attach frees the side
// connection in this case. Long transfers on the new connection request another side connection.
func (s *side) attach(p *endpoint, l *link) {
	if l.beside != p.link {
		p.t.forget(l)
		return
	}
	if l.gone {
		s.refused(p, l.cause) // without this call no further side connection would be requested
		return
	}
	if p.end != nil || !s.line.Attach(l.nonce()) {
		p.t.forget(l)
		return
	}
	s.link, s.depth, s.since, s.why = l, l.terms.Depths.ORD, time.Now(), nil
	s.judge.Attach()
	p.t.sendProof(l, 0)
	l.endpoint.Trust()
	p.list()
}

// drop ends the side connection together with the connection in use. The operations begin again, or fail.
func (s *side) drop(p *endpoint) {
	l := s.link
	s.link, s.marks, s.reading, s.writing = nil, nil, 0, 0
	s.line.Drop()
	if s.judge != nil {
		s.judge.Reset()
	}
	if l != nil {
		p.t.forget(l)
	}
	for _, o := range p.bulk.all {
		_ = o.striped.deregister() // after an error the memory may stay registered, but nothing accesses it
	}
}

// lost handles the end of the side connection, whose link was freed.
func (s *side) lost(p *endpoint, why error) {
	id, ok := s.line.Lost()
	s.link, s.marks, s.reading, s.writing = nil, nil, 0, 0
	if !ok {
		return
	}
	s.judge.Lost()
	if time.Since(s.since) > s.pause {
		s.pause = 0
	}
	s.wait(p, why)
	p.bulk.marking = nil
	for _, o := range p.bulk.sorted() {
		_ = o.striped.deregister() // as in drop, an error is ignored
		o.transfer.Lost()
		p.bulk.again(o)
	}
	if p.end == nil && !p.t.closed {
		p.bulk.supersede(recordClose)
		p.bulk.answers = append(p.bulk.answers, answer{recordClose, transport.Header{A: id}})
		p.list()
	}
}

// drive sends the marks that are due.
func (s *side) drive(p *endpoint) {
	b := &p.bulk
	for len(b.marking) > 0 && s.link != nil && !s.link.broken && len(s.marks) < credit.UpdateReserve {
		o := b.marking[0]
		b.marking = slices.Delete(b.marking, 0, 1)
		if b.all[o.id] != o || !o.transfer.MarkDue(stripe.Side) {
			continue
		}
		p.t.sendControl(s.link, 0, frameMark, false)
		o.transfer.Mark(stripe.Side)
		s.marks = append(s.marks, o)
	}
}

// moved handles the completion of a Read or Write on the side connection.
func (s *side) moved(p *endpoint, kind idKind, id uint32, status verbs.Status) {
	if status != verbs.StatusSuccess {
		return // the connection ends, and its end is handled by lost
	}
	if kind == idRead {
		s.reading--
	} else {
		s.writing--
	}
	p.list()
	if o := p.bulk.all[id]; o != nil {
		part := o.transfer.Oldest(stripe.Side)
		o.transfer.Completed(stripe.Side)
		s.judge.Completed(stripe.Side, part.Len, p.t.now())
		s.carried += part.Len
		o.check(p)
	}
}

// aside handles a frame that has arrived on a side connection. Only the active side sends frames on a side
// connection: the proof, and then marks.
func (t *Transport) aside(p *endpoint, d *delivery, b []byte) {
	l := d.link
	var err error
	switch f, bad := parseHead(b); {
	case p.end != nil:
	case l.conn.Active:
		err = fmt.Errorf("%w: a frame from the passive side of a side connection", transport.ErrDamaged)
	case !l.active:
		if t.proved(l, b) {
			p.closeAsides(l)
		}
	case bad != nil:
		err = bad
	case f.kind != frameMark:
		err = fmt.Errorf("%w: a frame of kind %d on a side connection", transport.ErrDamaged, f.kind)
	default:
		p.bulk.answers = slices.DeleteFunc(p.bulk.answers, func(a answer) bool { return a.kind == recordMarked && a.header.A != l.nonce() })
		if err = p.bulk.overdue(); err != nil {
			break
		}
		p.bulk.answers = append(p.bulk.answers, answer{recordMarked, transport.Header{A: l.nonce()}})
		p.list()
	}
	l.rail.recycle(d.slot)
	if err != nil {
		t.damaged(l, err)
	}
}

// serveSide answers a recordClose or recordKey of the peer. Both concern the peer's side connection.
func (p *endpoint) serveSide(r *record) error {
	if err := p.bulk.overdue(); err != nil {
		return err
	}
	t := p.t
	if r.kind == recordClose {
		for _, l := range t.links {
			if l.peer == p.peer && l.isAside() && l.nonce() == r.header.A {
				t.forget(l)
				break
			}
		}
		p.bulk.supersede(recordClosed)
		p.bulk.answers = append(p.bulk.answers, answer{recordClosed, transport.Header{A: r.header.A}})
		return nil
	}
	if len(r.payload) != questionBytes {
		return fmt.Errorf("%w: a request of %d bytes for a key instead of %d", transport.ErrDamaged, len(r.payload), questionBytes)
	}
	if rail := int(r.payload[5]); rail >= len(t.rails) {
		return fmt.Errorf("%w: a request for a key on adapter %d of %d", transport.ErrDamaged, rail, len(t.rails))
	}
	p.bulk.answers = append(p.bulk.answers, p.answerKey(r, t.rails[r.payload[5]]))
	return nil
}

// answerKey returns the answer to a recordKey. The answer has the same layout as the answer to a
// recordCheck.
func (p *endpoint) answerKey(r *record, on *rail) answer {
	k := transport.Key{Addr: r.header.A, Token: r.header.B}
	a := answer{recordKeyed, transport.Header{B: statusBadKey, C: uint64(binary.LittleEndian.Uint32(r.payload))}}
	if _, ok := p.t.exposed.slice(k, int(r.header.C), transport.Access(r.payload[4])); !ok {
		return a
	}
	address, key, err := p.t.exposed.on(k, on)
	if err != nil {
		a.header.B = statusRefused // the transfer uses only the connection in use
		return a
	}
	a.header.A, a.header.B = address, uint64(key)<<checkedKeyShift|uint64(on.index)<<checkedRailShift
	return a
}

// sideAnswered handles an answer of the owner that concerns this rank's side connection.
func (p *endpoint) sideAnswered(r *record) {
	s, h := &p.side, &r.header
	switch {
	case r.kind == recordKeyed:
		p.bulk.keys = max(p.bulk.keys-1, 0)
		if o := p.bulk.all[uint32(h.C)]; o != nil && o.striped.key == stripe.KeyAsked {
			o.keyed(p, h)
		}
	case r.kind == recordMarked && s.line.Is(h.A) && len(s.marks) > 0:
		o := s.marks[0]
		s.marks = slices.Delete(s.marks, 0, 1)
		o.transfer.Confirmed(stripe.Side)
		p.bulk.mark(o)
		o.check(p)
	case r.kind == recordClosed && s.line.Closed(h.A):
		for _, o := range p.bulk.sorted() {
			o.transfer.Release()
			p.bulk.again(o)
		}
	}
}

// explain returns a comma and a text that says how much the side connection carries, or why there
// is no side connection.
func (s *side) explain() string {
	switch {
	case s.link != nil:
		return fmt.Sprintf(", striped with %s (%s)", s.link.rail.name(), s.judge)
	case s.why != nil:
		return fmt.Sprintf(", not striped: %v", s.why)
	default:
		return ""
	}
}
