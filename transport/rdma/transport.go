package rdma

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/gorun-hpc/gorun/internal/journal"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// Transport connects a rank with ranks of other nodes. It must be made by New.
type Transport struct {
	config      Config
	policy      negotiation.Policy
	credentials negotiation.Credentials

	adapter    *verbs.Adapter
	limits     verbs.Attributes
	attributes verbs.EndpointAttributes
	domain     *verbs.ProtectionDomain
	queue      *verbs.CompletionQueue
	listener   *verbs.Listener
	batches    batches

	measure  measure
	pool     *credit.Pool
	receives *receives
	sends    *sendMemory
	exposed  exposures

	// commands and supervision are how actors and Poll speak with each other.
	commands    commands
	supervision supervision
	ring        func()

	// peers by rank, nil until met. links by their endpoint.
	peers    []*endpoint
	links    map[*verbs.Endpoint]*link
	lastLink *link
	linksMax int
	// busy are the endpoints with something to go on with.
	busy []*endpoint

	// stash are messages that are not handed over yet, oldest first.
	stash []delivery
	// ends are links that have ended and whose messages are being handed over.
	ends []linkEnd
	// leaving are the peers that were marked down and whose last messages are read.
	leaving []*departure
	// finished and downs are what Poll hands over at its end.
	finished   []finished
	downs      []*transport.PeerDown
	operations uint32

	batch    [pollBatch]verbs.Completion
	segments [1]verbs.Segment
	request  verbs.WorkRequest
	pace     pace
	// used is the receive of the message that was handed over last, if it has a link.
	used arrived

	// log is where lines for people go, from whatever goroutine, under whatever lock.
	log *journal.Journal

	reading, closed, over bool
	strangers             Strangers
}

var _ transport.Transport = (*Transport)(nil)

// finished is an operation that has ended.
type finished struct {
	peer         int
	token, value uint64
	err          error
}

// New opens the interface and listens there. Connections are made when needed.
func New(c Config) (*Transport, error) {
	if err := c.populate(); err != nil {
		return nil, err
	}
	t := &Transport{
		config: c, exposed: exposures{}, peers: make([]*endpoint, c.Size), links: map[*verbs.Endpoint]*link{},
		credentials: negotiation.Credentials{
			Key: append([]byte(nil), c.Secret...), Job: negotiation.JobHash(c.Job), Rank: uint32(c.Rank), Size: uint32(c.Size),
		},
		ring: c.Sleeper.Ring, pace: pace{companion: c.Companion}, batches: batches{base: time.Now(), within: batchWithin},
	}
	t.supervision.t, t.commands.wake, t.log = t, t.ring, journal.New(c.Log)
	var err error
	if t.adapter, err = verbs.Open(c.Provider, c.Interface); err != nil {
		return nil, t.failure("open", -1, err)
	}
	t.limits = t.adapter.Attributes()
	if err = t.prepare(); err != nil {
		_ = t.adapter.Close() // the first error says what is wrong
		return nil, t.failure("open", -1, err)
	}
	return t, nil
}

// prepare makes everything that needs no peer.
func (t *Transport) prepare() error {
	a := &t.limits
	if a.MaxSharedReceives == 0 || a.WaitsForReceive && a.MaxRequestData < negotiation.Size {
		return fmt.Errorf("%w: %s has no shared receive queues", transport.ErrNotSupported, a.Provider)
	}
	peers := max(t.config.Size-1, 1)
	t.measure = measureOf(peers)
	t.pool = credit.NewPool(peers, min(t.config.Slot, a.MaxMessage, negotiation.MaxSlot))
	t.policy = negotiation.Policy{
		Slot: t.pool.Slot(),
		Limits: negotiation.Limits{
			Want:   negotiation.Depths{IRD: min(t.config.ReadsIn, t.measure.reads), ORD: min(t.config.ReadsOut, t.measure.reads)},
			Device: negotiation.Depths{IRD: a.MaxReadsIn, ORD: a.MaxReadsOut},
		},
	}
	if t.config.NoCRC {
		t.policy.Features = negotiation.WithoutCRC
	}
	offer := t.policy.Limits.Offer()
	t.attributes = a.Endpoint
	t.attributes.MaxMessage, t.attributes.MaxRDMA = t.pool.Slot(), a.MaxRDMA
	t.attributes.MaxReceives, t.attributes.MaxReceiveSegments = 0, 1
	t.attributes.MaxRequests, t.attributes.MaxRequestSegments = min(t.measure.requests(offer.ORD), a.MaxRequests), 1
	t.attributes.MaxInline, t.attributes.ReadsIn, t.attributes.ReadsOut = 0, offer.IRD, offer.ORD
	var err error
	if t.domain, err = t.adapter.NewProtectionDomain(); err != nil {
		return err
	}
	// A pair may have two connections for a moment: the one that was lost at one end
	// and the one that replaces it.
	most := min(2*peers*(t.measure.slots+credit.Reserve), credit.BudgetBytes/t.pool.Slot()+peers*credit.Reserve, a.MaxSharedReceives)
	if t.receives, err = newReceives(t.adapter, t.domain, t.pool.Slot(), most); err != nil {
		return err
	}
	t.sends = newSendMemory(t.adapter, t.domain, t.pool.Slot())
	perLink := t.attributes.MaxRequests + linkEvents
	entries := min(most+(peers+spareLinks)*perLink+backlog, a.MaxCompletions)
	t.linksMax = max((entries-most-backlog)/perLink, 1)
	if t.queue, err = t.adapter.NewCompletionQueue(entries); err != nil {
		return err
	}
	t.listener, err = t.adapter.Listen(verbs.ListenOptions{Address: t.config.Listen, Queue: t.queue, Backlog: backlog})
	return err
}

const (
	// backlog is the number of requests that may wait for their answer.
	backlog = 64
	// spareLinks is the number of connections beyond one for each peer: those that were
	// lost at one end and are being replaced.
	spareLinks = 16
)

// granted is the number of receives that connections need.
func (t *Transport) granted() int { return t.pool.Bytes() / t.pool.Slot() }

// Name implements transport.Transport.
func (t *Transport) Name() string { return "rdma" }

// Address is where this rank listens: what other ranks' Lookup is to return for it.
func (t *Transport) Address() netip.AddrPort { return t.listener.Address() }

// Attributes are those of the adapter.
func (t *Transport) Attributes() verbs.Attributes { return t.limits }

// Reach implements transport.Transport.
func (t *Transport) Reach(peer int) error {
	switch {
	case peer < 0 || peer >= t.config.Size:
		return t.failure("reach", peer, fmt.Errorf("%w: there are %d ranks", transport.ErrNotSupported, t.config.Size))
	case peer == t.config.Rank:
		return t.failure("reach", peer, fmt.Errorf("%w: the rank is this one", transport.ErrNotSupported))
	}
	return nil
}

// Endpoint implements transport.Transport.
func (t *Transport) Endpoint(peer int) (transport.Endpoint, error) {
	if err := t.Reach(peer); err != nil {
		return nil, err
	}
	return t.meet(peer), nil
}

// meet returns the endpoint of a rank.
func (t *Transport) meet(peer int) *endpoint {
	p := t.peers[peer]
	if p == nil {
		p = newEndpoint(t, peer)
		t.peers[peer] = p
	}
	return p
}

func (t *Transport) failure(op string, peer int, err error) error {
	return &transport.OpError{Op: op, Transport: "rdma", Peer: peer, Err: err}
}

// MarkDown implements transport.Transport.
func (t *Transport) MarkDown(peer int, cause error) {
	if t.Reach(peer) == nil {
		t.command(func() { t.depart(peer, cause) })
	}
}
