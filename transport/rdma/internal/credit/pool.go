package credit

const (
	// BudgetBytes bounds the receive memory of a rank with up to budgetPeers peers, on one adapter.
	// Each further peer adds beyondBytes.
	BudgetBytes = 64 << 20
	budgetPeers = 1000
	beyondBytes = 16 << 10

	// least is the window, in frames, that every peer gets, however many peers there are. With a
	// window of 2, one frame can be processed while another frame is in flight.
	least = 2
	// first is the window, in frames, of a new connection while the pool has enough memory for it.
	first = 8

	slotUnit = 1 << 10
)

// Pool distributes the receive memory of a rank among its peers. A Pool only counts receives. The
// memory of the receives belongs to the caller. A Pool is not safe for concurrent use.
type Pool struct {
	slot   int
	shared int // receives that are promised to no peer
	floor  int // receives promised to each peer: least + Reserve
	most   int // see Most
	posted int
}

// budget returns how many bytes all receives of a rank with this number of peers may occupy.
func budget(peers int) int {
	return BudgetBytes + max(peers-budgetPeers, 0)*beyondBytes
}

// NewPool returns the pool of a rank that connects to at most this number of peers. slot is the
// wanted size of each receive in bytes, at least 1 KiB. Slot returns the actual size. most is the
// largest number of receives that the adapter can hold for all peers.
func NewPool(peers, slot, most int) *Pool {
	peers = max(peers, 1)
	p := &Pool{floor: least + Reserve}
	fits := budget(peers) / peers / p.floor
	p.slot = max(min(slot, fits)/slotUnit, 1) * slotUnit
	p.shared = min(budget(peers)/p.slot, most) - peers*p.floor
	p.most = max(p.shared, 0) + peers*p.floor
	return p
}

// Most returns the largest number of receives that all connections together can have, if each peer has
// one connection.
func (p *Pool) Most() int { return p.most }

// Slot returns the size of each receive in bytes, a multiple of 1 KiB. Slot is less than the wanted
// size if receives of the wanted size for every peer would exceed the budget, or if the wanted size
// is not a multiple of 1 KiB.
func (p *Pool) Slot() int { return p.slot }

// Join returns the window of a new connection, in frames. The caller posts this number of receives
// and Reserve further receives. The window is at least 2. The receives stay within the budget and
// within Most if the number of connections does not exceed the argument peers of NewPool.
func (p *Pool) Join() int {
	window := least + p.give(first-least)
	p.posted += window + Reserve
	return window
}

// Widen returns the number of receives by which the window of a connection may grow, at most the
// argument window. It returns 0 if the pool has no memory left. The caller posts this number of
// receives.
func (p *Pool) Widen(window int) int {
	more := p.give(min(window, WindowMax-window))
	p.posted += more
	return more
}

// give takes up to n receives out of the shared receives, and returns their number.
func (p *Pool) give(n int) int {
	n = max(min(n, p.shared), 0)
	p.shared -= n
	return n
}

// Leave takes back the receives of a connection with this window.
func (p *Pool) Leave(window int) {
	p.shared += window - least
	p.posted -= window + Reserve
}

// Bytes returns the memory in bytes of the receives of all connections.
func (p *Pool) Bytes() int { return p.posted * p.slot }
