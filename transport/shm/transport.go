package shm

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/internal/hugepages"
	"github.com/gorun-hpc/gorun/transport"
)

// Config selects the rank of the node that a Transport serves, and the options of this Transport.
type Config struct {
	// Rank is the rank in the world.
	Rank int
	// LocalRank is the number of this rank's range in the node.
	LocalRank int
	// Peers holds the world rank of every local rank, including this rank. nil means that world
	// ranks and local ranks are equal.
	Peers []int
	// DisableCMA makes bulk operations on private memory go through staging buffers, as if
	// process_vm_readv were forbidden.
	DisableCMA bool
	// DisableMembarrier makes this rank, and the senders to this rank, publish with a fence, as if
	// membarrier were forbidden.
	DisableMembarrier bool
	// Alone is true if only this rank's own process rings this rank, because no other rank of the
	// node sends to it by this transport. If Alone is true, the rank's goroutines sleep without
	// holding a P of Go's scheduler, see aloneSleeper.
	Alone bool
	// Connected is true if the process also has connections to other nodes. If Connected is true,
	// the rank's goroutines also sleep without holding a P of Go's scheduler, see futexSleeper.
	Connected bool
}

// Transport connects a rank with the other ranks of its node.
type Transport struct {
	node    *Node
	cfg     Config
	control segment
	alert   *uint64
	bell    transport.Sleeper
	arena   arena

	// fences is true while barriers do not work in this process. Publishing then needs a
	// fence. settled is true if barriers worked when Settle returned.
	fences  bool
	settled atomic.Bool
	closed  bool
	// slots maps a world rank to a local rank. The local rank is -1 for ranks of other nodes.
	slots []int32
	// endpoints is indexed by local rank. An entry is nil until the endpoint is requested or
	// the transport needs it.
	endpoints []*endpoint

	inbox inboxReader
	// rings holds the rings in use that this rank reads, the busy ones first.
	rings []*lane
	// lanes maps the local rank of a peer to the ring to which the peer writes. The entry is nil if
	// the peer writes to the inbox.
	lanes []*lane
	// until has, for each local rank, the position in the inbox from which on the records of that rank are
	// discarded. It is forever while no loss of the rank is known.
	until []uint64
	// reaped marks local ranks whose processes have ended, as MarkDown has reported. Memory that they could access is
	// free.
	reaped []bool
	// inboxDamaged is true if the inbox is not read any more, because it is damaged.
	// inboxFirst is true if the last Poll used its budget up before it read the inbox.
	inboxDamaged, inboxFirst bool
	// reading is true during Poll, to detect a Poll from within a Handler.
	reading bool

	exposed *exposures
	bulk    bulk
	tuner   tuner
	// traffic counts the bytes that direct Gets and Puts of this rank copy from and to its own
	// buffers. An Expose counts as one copy of the exposed memory.
	traffic hugepages.Traffic
	// blocked holds the endpoints whose lane had no room.
	blocked []*endpoint
	polls   uint64

	// news is true while losses or leaving contains an entry.
	news atomic.Bool
	// mu guards losses and ended. MarkDown and GiveUp, which any goroutine may call, append to losses. When
	// ended is true, they do nothing.
	mu     sync.Mutex
	losses []loss
	ended  bool
	// leaving holds the losses that Poll knows and has not reported yet. settle reports them.
	leaving []loss

	// born is the time of New, from which other times are counted.
	born time.Time
	// barrier makes the processors of all ranks execute a memory barrier.
	barrier func() bool
	// reader and writer copy from and to the memory of other processes.
	reader, writer func(pid int, local []byte, addr uint64) (int, error)
	// cookie is the random word that peers read to check that they reach this process's
	// memory.
	cookie []uint64
}

var _ transport.Transport = (*Transport)(nil)

// New joins the node as one of its ranks. During the life of the node, each range can be used by
// only one Transport.
func New(n *Node, cfg Config) (*Transport, error) {
	if cfg.LocalRank < 0 || cfg.LocalRank >= n.ranks {
		return nil, fmt.Errorf("shm: local rank %d on a node of %d ranks: want 0 to %d", cfg.LocalRank, n.ranks, n.ranks-1)
	}
	if cfg.Peers == nil {
		cfg.Peers = make([]int, n.ranks)
		for i := range cfg.Peers {
			cfg.Peers[i] = i
		}
	}
	if len(cfg.Peers) != n.ranks || cfg.Peers[cfg.LocalRank] != cfg.Rank {
		return nil, fmt.Errorf("shm: rank %d is not local rank %d of %v", cfg.Rank, cfg.LocalRank, cfg.Peers)
	}
	control := n.control(cfg.LocalRank)
	t := &Transport{
		node: n, cfg: cfg, control: control, born: time.Now(),
		alert:     control.word(offAlert),
		bell:      n.bell(cfg.LocalRank),
		arena:     arena{n, cfg.LocalRank},
		endpoints: make([]*endpoint, n.ranks),
		inbox:     inboxReader{inboxEnds: newInboxEnds(control)},
		lanes:     make([]*lane, n.ranks),
		until:     slices.Repeat([]uint64{forever}, n.ranks),
		reaped:    make([]bool, n.ranks),
		exposed:   &exposures{},
		barrier:   barrier,
		reader:    processRead,
		writer:    processWrite,
	}
	if n.locals == nil {
		switch {
		case cfg.Alone:
			t.bell = &aloneSleeper{}
		case cfg.Connected:
			t.bell = futexSleeper{newDoorbell(control)}
		}
	}
	if n.locals != nil {
		t.exposed = &n.locals[cfg.LocalRank].exposed
	} else {
		t.exposed.listing = control.at(offListing, listingSlots*listingBytes)
	}
	if err := t.mapSlots(); err != nil {
		return nil, err
	}
	if err := t.join(); err != nil {
		return nil, err
	}
	t.touch()
	return t, nil
}

func (t *Transport) mapSlots() error {
	top := 0
	for _, p := range t.cfg.Peers {
		if p < 0 {
			return fmt.Errorf("shm: peers %v: rank %d is negative", t.cfg.Peers, p)
		}
		top = max(top, p)
	}
	t.slots = make([]int32, top+1)
	for i := range t.slots {
		t.slots[i] = -1
	}
	for slot, p := range t.cfg.Peers {
		if t.slots[p] >= 0 {
			return fmt.Errorf("shm: peers %v: rank %d occurs twice", t.cfg.Peers, p)
		}
		t.slots[p] = int32(slot)
	}
	return nil
}

// join writes the identity of this rank into its header, and then the state.
func (t *Transport) join() error {
	if s := atomic.LoadUint64(t.control.word(offState)); s&stateMask != stateAbsent {
		return fmt.Errorf("shm: local rank %d has joined already: a rank joins its job once, in one process", t.cfg.LocalRank)
	}
	if t.node.locals == nil && !t.cfg.DisableMembarrier {
		barriers.start()
	}
	t.fences = t.node.locals != nil || t.cfg.DisableMembarrier || !barriers.ready.Load()
	t.cookie = newCookie()
	for off, v := range map[int]uint64{
		offMagic:      layoutMagic,
		offVersion:    layoutVersion,
		offPID:        uint64(os.Getpid()),
		offCookie:     t.cookie[0],
		offCookieAddr: addressOfWords(t.cookie),
	} {
		atomic.StoreUint64(t.control.word(off), v)
	}
	state := uint64(stateRunning)
	if t.fences {
		state |= stateFences
	}
	atomic.StoreUint64(t.control.word(offState), state)
	return nil
}

// Name implements transport.Transport.
func (t *Transport) Name() string { return "shm" }

// Arena returns this rank's part of node memory.
func (t *Transport) Arena() transport.Arena { return &t.arena }

// Sleeper returns the Sleeper of this rank's goroutines.
func (t *Transport) Sleeper() transport.Sleeper { return t.bell }

// slot returns the local rank of a rank. It returns -1 if the rank is not on this node.
func (t *Transport) slot(peer int) int {
	if peer < 0 || peer >= len(t.slots) {
		return -1
	}
	return int(t.slots[peer])
}

// Reach implements transport.Transport.
func (t *Transport) Reach(peer int) error {
	switch s := t.slot(peer); {
	case s < 0:
		return t.failure("reach", peer, fmt.Errorf("%w: the rank is on another node", transport.ErrNotSupported))
	case s == t.cfg.LocalRank:
		return t.failure("reach", peer, fmt.Errorf("%w: the rank is this one", transport.ErrNotSupported))
	}
	return nil
}

// Endpoint implements transport.Transport.
func (t *Transport) Endpoint(peer int) (transport.Endpoint, error) {
	if err := t.Reach(peer); err != nil {
		return nil, err
	}
	return t.endpoint(t.slot(peer)), nil
}

// endpoint returns the endpoint of a local rank.
func (t *Transport) endpoint(slot int) *endpoint {
	if e := t.endpoints[slot]; e != nil {
		return e
	}
	e := newEndpoint(t, slot)
	t.endpoints[slot] = e
	return e
}

func (t *Transport) failure(op string, peer int, err error) error {
	return &transport.OpError{Op: op, Transport: "shm", Peer: peer, Err: err}
}

// Expose implements transport.Transport. It makes no system call, except that the first Expose of a
// long slice may ask the kernel whether it supports huge pages (package hugepages). The key of a slice
// in the arena contains the offset of the slice in the arena.
func (t *Transport) Expose(b []byte, access transport.Access) (transport.Key, error) {
	if t.closed {
		return transport.Key{}, t.failure("expose", -1, transport.ErrClosed)
	}
	if off, ok := t.arena.Offset(b); ok {
		return t.arena.Key(off), nil
	}
	if t.node.locals == nil && !t.cfg.DisableCMA {
		t.traffic.Note(b)
	}
	return t.exposed.add(b, access), nil
}

// Conceal implements transport.Transport. It does not wait for a peer that copies private memory by
// a system call. Such a peer itself reports the end of its copy to the engine of this rank. If the
// engine conceals the memory before this report, the peer may complete the system call that it has
// begun, which moves at most pollBytes. The peer begins no further system call that writes to the memory.
func (t *Transport) Conceal(k transport.Key) error {
	if t.closed {
		return t.failure("conceal", -1, transport.ErrClosed)
	}
	if k.Token == tokenArena {
		return nil
	}
	if !t.exposed.remove(k) {
		return t.failure("conceal", -1, transport.ErrBadKey)
	}
	return nil
}

// Discard gives the pages of the node memory back to the system, if the system supports that. It is
// called after every Transport of the node was closed. The memory stays mapped, because the program
// may still hold slices of it. The pages that were given back read as zeros.
func (t *Transport) Discard() {
	if t.node.mapped != nil {
		_ = advise(t.node.mapped) // after an error the pages are freed when the process ends
	}
}

// Close implements transport.Transport. A peer whose lane is in this rank's inbox gets an error when
// it sends after Close. A peer whose lane is in a ring gets an error only when the ring is full,
// because it checks the state of this rank only then. Peers can still read the messages that this
// rank has sent before Close.
func (t *Transport) Close() error {
	if t.closed {
		return t.failure("close", -1, transport.ErrClosed)
	}
	t.closed = true
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	atomic.StoreUint64(t.control.word(offState), stateClosed)
	for _, e := range t.endpoints {
		if e != nil {
			e.leave()
		}
	}
	return nil
}
