package rdma

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/internal/journal"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// Transport connects a rank to ranks of other nodes. New makes a Transport.
type Transport struct {
	config      Config
	credentials negotiation.Credentials

	// rails are the open adapters in the order of preference. The index of a rail is its
	// Location.Rail. polled are the rails whose adapters have not been removed. slot is the size in
	// bytes of an eager receive, on every rail.
	rails, polled []*rail
	slot          int
	// stripes reports whether several rails carry stripes of long transfers.
	stripes bool
	stripe  stripeConfig
	// looks counts the calls of the method look while there are several polled rails.
	looks uint32
	// missing are lines of text that name the adapters that could not become rails, with the
	// reasons.
	missing []string
	batches batches

	measure measure
	// pinned accounts for the memory of the arena and the heap that stays registered.
	pinned  *pinned
	exposed exposures
	// exposures is the last number that enter has put into a key (type exposures). complained is
	// true after a failure to register memory was logged.
	exposures  uint32
	complained bool

	// Actors send commands to Poll through commands. Poll sends messages to actors through
	// supervision.
	commands    commands
	supervision supervision
	ring        func()

	// peers are the endpoints by rank. An endpoint is nil before its first use. links maps endpoints of
	// package verbs to links. lastLink is the link that was looked up last.
	peers    []*endpoint
	links    map[*verbs.Endpoint]*link
	lastLink *link
	// busy are the endpoints with work that the next Poll continues.
	busy []*endpoint

	// stash are arrived frames whose messages have not all been passed to the handler yet, oldest first.
	stash []delivery
	// ends are links that have ended. Some of their messages still have to be passed to the
	// handler.
	ends []linkEnd
	// leaving are the peers that were marked down and whose last messages are still received.
	leaving []*departure
	// finished are operations that have ended, and downs are lost peers. At its end, Poll reports
	// both to the handler.
	finished   []finished
	downs      []*transport.PeerDown
	operations uint32

	spareExposures  spare[exposure]
	spareOperations spare[operation]

	batch [pollBatch]verbs.Completion
	// request is the Send that post reuses. New sets its operation, and segments as its scatter/gather
	// list. post sets its ID, its flags and the segment.
	request  verbs.WorkRequest
	segments [1]verbs.Segment
	// used is the receive of the last eager frame that was handled. The receive has not been posted again
	// yet. If used.link is nil, there is no such receive.
	used arrived

	// log takes human-readable lines of text. Any goroutine may add a line, under any lock.
	log *journal.Journal

	reading, closed, over bool
	// closing waits for the goroutines that close removed adapters.
	closing   sync.WaitGroup
	strangers Strangers
}

var _ transport.Transport = (*Transport)(nil)

// finished is an operation that has ended.
type finished struct {
	peer         int
	token, value uint64
	err          error
}

// New opens the rails and listens on them. Connections are made when they are needed.
func New(c Config) (*Transport, error) {
	if err := c.populate(); err != nil {
		return nil, err
	}
	t := &Transport{
		config: c, missing: slices.Clone(c.Missing), exposed: exposures{}, peers: make([]*endpoint, c.Size), links: map[*verbs.Endpoint]*link{},
		credentials: negotiation.NewCredentials(c.Secret, c.Job, uint32(c.Rank), uint32(c.Size)),
		ring:        c.Sleeper.Ring, stripe: stripeDefault, measure: measureOf(max(c.Size-1, 1)), batches: batches{base: time.Now(), within: batchWithin},
	}
	t.request.Op, t.request.Segments = verbs.OpSend, t.segments[:]
	t.supervision.t, t.commands.wake, t.log = t, t.ring, journal.New(c.Log)
	if err := t.openRails(); err != nil {
		for _, r := range t.rails {
			_ = r.adapter.Close() // the first error has the cause
		}
		return nil, t.failure("open", -1, err)
	}
	return t, nil
}

// openRails opens the adapters and listens on them.
func (t *Transport) openRails() error {
	most := negotiation.MaxSlot
	for _, c := range t.config.Rails {
		r, err := t.openRail(c)
		if err != nil {
			if err = t.miss(&c, err); err != nil {
				return err
			}
			continue
		}
		most = min(most, r.limits.MaxMessage)
		t.rails = append(t.rails, r)
	}
	slot := min(t.wantedSlot(), most)
	t.pinned = newPinned(t.rails)
	for _, r := range slices.Clone(t.rails) {
		if err := r.prepare(slot); err != nil {
			if err = t.miss(&r.config, err); err != nil {
				return err
			}
			_ = r.adapter.Close() // the first error has the cause
			if r.registered != nil {
				r.registered.close()
			}
			t.rails = slices.DeleteFunc(t.rails, func(o *rail) bool { return o == r })
		}
	}
	if len(t.rails) == 0 {
		return fmt.Errorf("no adapter could be opened (%s): choose another one by -rdma-device, or a network for TCP by -net", strings.Join(t.missing, "; "))
	}
	t.polled, t.slot, t.stripes = t.rails, t.rails[0].pool.Slot(), t.severalStriped()
	for i, r := range t.rails {
		r.index, r.policy.Rail = uint8(i), uint8(i)
		// A later rail carries little traffic. Polling it must not delay the first rail.
		r.pace.companion = t.config.Companion || i > 0
	}
	t.attend()
	return nil
}

// wantedSlot returns Config.Slot or its default.
func (t *Transport) wantedSlot() int {
	switch c := &t.config; {
	case c.Slot > 0:
		return c.Slot
	case c.Size-1 > longSlotPeers || t.pins():
		return slotDefault
	}
	return slotLong
}

// pins reports whether at least one adapter pins memory. The adapters of the kernel do, and nearly all of them move
// bytes without the processor. All other adapters are implemented in software in this process, and their sends and
// receives take time of the processor.
func (t *Transport) pins() bool {
	return slices.ContainsFunc(t.rails, func(r *rail) bool { return r.limits.PinsMemory })
}

// Slow implements transport.Slow.
func (t *Transport) Slow() bool { return !t.pins() }

// severalStriped reports whether at least two rails carry stripes.
func (t *Transport) severalStriped() bool {
	n := 0
	for _, r := range t.rails {
		if r.striped() {
			n++
		}
	}
	return n > 1
}

// miss records that a rail is missing, with the reason, or returns err if the rail is required.
func (t *Transport) miss(c *Rail, err error) error {
	if !c.Optional {
		return err
	}
	t.missing = append(t.missing, fmt.Sprintf("%s: %v", c.Interface, err))
	return nil
}

// Name implements transport.Transport.
func (t *Transport) Name() string { return "rdma" }

// Locations returns the addresses at which this rank listens, one for each rail. The Lookup of
// other ranks has to return them for this rank.
func (t *Transport) Locations() []Location {
	list := make([]Location, len(t.rails))
	for i, r := range t.rails {
		list[i] = r.location()
	}
	return list
}

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

// meet returns the endpoint of a rank. It makes the endpoint if there is none.
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

// GiveUp implements transport.Transport. It does the same as MarkDown: when the loss of the peer is reported, its
// connections end, and a peer that lives cannot access memory of this rank any more.
func (t *Transport) GiveUp(peer int, cause error) { t.MarkDown(peer, cause) }
