package credit

const (
	// BudgetBytes is the receive memory of a rank with up to budgetPeers peers;
	// each one beyond adds beyondBytes.
	BudgetBytes = 64 << 20
	budgetPeers = 1000
	beyondBytes = 16 << 10

	// least is the window that every peer gets, however many there are: one frame
	// is being worked on while another is on its way.
	least = 2
	// first is the window of a new connection while there is memory.
	first = 8

	slotUnit = 1 << 10
)

// Pool shares the receive memory of a rank among its peers. It counts; the
// memory is the caller's. It is not safe for concurrent use.
type Pool struct {
	slot   int
	shared int // receives that no peer has been promised
	floor  int // receives promised to each peer: least and Reserve
	posted int
}

// budget is what all receives of a rank with so many peers may occupy, in bytes.
func budget(peers int) int {
	return BudgetBytes + max(peers-budgetPeers, 0)*beyondBytes
}

// NewPool returns the pool of a rank with so many peers to connect to at most.
// slot is the size in bytes of each receive that is wished for, at least 1 KiB;
// Slot says what it became.
func NewPool(peers, slot int) *Pool {
	peers = max(peers, 1)
	p := &Pool{floor: least + Reserve}
	fits := budget(peers) / peers / p.floor
	p.slot = max(min(slot, fits)/slotUnit, 1) * slotUnit
	p.shared = budget(peers)/p.slot - peers*p.floor
	return p
}

// Slot is the size of each receive in bytes, a multiple of 1 KiB: as wished, or
// less so that every peer can have its share.
func (p *Pool) Slot() int { return p.slot }

// Join returns the window of a new connection. The caller posts that many
// receives and Reserve more. It never fails for one of the peers of NewPool.
func (p *Pool) Join() int {
	window := least + p.give(first-least)
	p.posted += window + Reserve
	return window
}

// Widen returns by how much the window of a connection may grow; 0 when there is
// no memory. The caller posts that many receives.
func (p *Pool) Widen(window int) int {
	more := p.give(min(window, WindowMax-window))
	p.posted += more
	return more
}

// give takes up to n receives out of what is shared.
func (p *Pool) give(n int) int {
	n = max(min(n, p.shared), 0)
	p.shared -= n
	return n
}

// Leave takes back what a connection with this window had.
func (p *Pool) Leave(window int) {
	p.shared += window - least
	p.posted -= window + Reserve
}

// Bytes is the memory of all receives that connections have.
func (p *Pool) Bytes() int { return p.posted * p.slot }
