package transport

// HeaderSize is the number of bytes of a Header on a wire.
const HeaderSize = 24

// Header travels with every message. The transport copies it and does not look
// inside; its three words belong to the engine. It is a value of machine words,
// not a slice, so that it reaches the ring in registers.
type Header struct{ A, B, C uint64 }

// Caps says what an Endpoint can do. The engine chooses its protocols from it
// and never from the kind of the transport.
type Caps struct {
	// MaxEager is the largest payload in bytes that Send accepts.
	MaxEager int
	// EagerBest is the largest payload in bytes for which Send is the fastest
	// way; above it the engine prefers a rendezvous if Get or Put works.
	EagerBest int
	// EagerAlone is the same while nothing else is on its way to the peer, which the Endpoint
	// says by its method Quiet (Quieter): a rendezvous takes a round trip more, which a burst of messages hides. 0 is
	// for EagerBest.
	EagerAlone int
	// Get says that exposed memory of the peer can be read.
	Get bool
	// Put says that exposed memory of the peer can be written.
	Put bool
	// FetchAdd says that a 64-bit word of the peer can be added to atomically.
	FetchAdd bool
	// Handover says that Map reaches the peer's arena, so that memory changes
	// hands by name.
	Handover bool
	// CostlySend says that a Send costs so much that what waits had better share
	// one: several times the copying of a small message.
	CostlySend bool
	// MaxReads is the number of Gets that may be under way to this peer (on RDMA
	// the negotiated initiator depth, ORD); 0 means no Get at all.
	MaxReads int
}

// Quieter is an Endpoint that knows whether next to nothing is on its way to the peer.
type Quieter interface{ Quiet() bool }

// Scheduled is an Endpoint that knows whether its peer waits without a processor, because it has offered it to
// others or sleeps. The answer may be out of date when it is returned.
type Scheduled interface{ Away() bool }

// Access says what a peer may do with exposed memory.
type Access uint8

// The rights of Expose. They can be combined.
const (
	AccessRead   Access = 1 << iota // peers may Get
	AccessWrite                     // peers may Put
	AccessAtomic                    // peers may FetchAdd
)

// Key names exposed memory. It is plain data: it travels inside messages and is
// meaningful only to the endpoint that leads to its owner.
type Key struct {
	// Addr is the address or offset of the first byte, in the owner's terms.
	Addr uint64
	// Token says which memory Addr is in: on RDMA the rkey (the STag of iWARP).
	Token uint64
}

// At returns the key of the byte off bytes further on.
func (k Key) At(off int) Key { return Key{k.Addr + uint64(off), k.Token} }

// Handler receives what Poll finds. Its methods are called on the goroutine of
// Poll, one at a time.
type Handler interface {
	// Arrive hands over one message of the peer. payload is valid during the call.
	Arrive(peer int, h Header, payload []byte)
	// Completed ends the Get, Put or FetchAdd that was given this token. value is
	// the old word of a FetchAdd, else 0. After an error the bytes of dst are
	// undefined but no longer touched.
	Completed(peer int, token uint64, value uint64, err error)
	// Down reports the loss of a peer, once, after every operation on it was
	// completed with an error.
	Down(down *PeerDown)
}

// Transport connects this rank with the others it can reach.
type Transport interface {
	// Name is short and lower case: "shm", "rdma", "fake".
	Name() string
	// Reach returns nil if peer can be reached, else an error that says why not
	// and that is ErrNotSupported. It makes no connection.
	Reach(peer int) error
	// Endpoint returns the endpoint of a peer, the same one each time. The
	// connection behind it is made on first use; Send returns ErrAgain until it
	// stands.
	Endpoint(peer int) (Endpoint, error)
	// Poll hands over what has arrived and moves bulk on. It does a bounded amount
	// of work (at most budget messages, and about 1 MiB of copying) and returns
	// how many events it handed over or moved. 0 means that nothing was to do. The
	// error is one of the transport as a whole; that of one peer is a Down.
	Poll(h Handler, budget int) (int, error)
	// Arm asks the transport to ring the rank's Sleeper at the next arrival. It
	// returns false, with nothing armed, when something is already there or bulk
	// is under way that needs Poll. Disarm ends it.
	Arm() bool
	// Disarm takes Arm back. It may be called when nothing is armed.
	Disarm()
	// Expose makes b accessible to peers for what access says; any other operation on it
	// ends with ErrBadKey and touches nothing, except that memory of an arena may be open to
	// its peers as a whole. The caller keeps b alive until Conceal and, with AccessRead alone,
	// does not change it: peers may read a copy.
	Expose(b []byte, access Access) (Key, error)
	// Conceal ends an Expose. On return no peer touches the memory any more, or
	// the error says why that cannot be known.
	Conceal(k Key) error
	// MarkDown tells the transport that the node agent has reaped this peer. The
	// next Poll reports it. Safe to call from any goroutine at any time.
	MarkDown(peer int, cause error)
	// Close ends every connection and frees what the transport holds. Peers see
	// an orderly end, not a loss.
	Close() error
}

// Endpoint is the way to one peer.
type Endpoint interface {
	// Caps may change until the connection stands; read it when choosing.
	Caps() Caps
	// Send copies header and payload into the lane. It returns ErrAgain, having
	// done nothing, when there is no room, and ErrTooLong above Caps.MaxEager. What
	// was accepted may need polls of this rank to leave.
	Send(h Header, payload []byte) error
	// Get reads len(dst) bytes of the peer's memory into dst. Completed(token)
	// follows in a later Poll unless an error is returned here.
	Get(dst []byte, src Key, token uint64) error
	// Put writes src into the peer's memory. When Completed(token) reports
	// success the bytes are in place there, before any message sent afterwards.
	Put(src []byte, dst Key, token uint64) error
	// FetchAdd adds delta to the 8-byte aligned word of the peer and completes
	// with its old value.
	FetchAdd(dst Key, delta, token uint64) error
	// Map returns n bytes of the peer's arena at k as memory of this process, or
	// ErrNotSupported. Nothing is copied.
	Map(k Key, n int) ([]byte, error)
}

// Preparer is implemented by an Endpoint that can do in advance what the first messages
// to its peer would do.
type Preparer interface {
	// Prepare is called once the peer has joined the job, at most once, before the first
	// Send.
	Prepare()
}

// Locking is implemented by a Transport that works between the calls to it, as when a
// timer ends.
type Locking interface {
	// UseLock is called once, before any other method. locked runs a function under the
	// lock under which the methods are called, unless they are called no more.
	UseLock(locked func(f func()))
}

// Arena is implemented by a transport whose ranks can name each other's memory:
// it is this rank's range of node memory, without an allocator.
type Arena interface {
	// Size is the length of the range in bytes. Most of it is not backed by
	// memory until touched.
	Size() int
	// Bytes returns n bytes at off, which the caller owns in the order it settles
	// with its allocator. It fails when the machine cannot give the memory.
	Bytes(off, n int) ([]byte, error)
	// Discard gives the pages of [off, off+n) back to the machine; their contents
	// become zero. off and n are multiples of the page size.
	Discard(off, n int) error
	// Key returns the key under which peers Map, Get or Put the bytes at off. No
	// Expose is needed.
	Key(off int) Key
	// Offset returns where b lies in the arena, and false if it does not.
	Offset(b []byte) (int, bool)
}

// Sleeper is how the goroutines of one rank yield and sleep until an arrival. All its
// methods may be called from any goroutine.
type Sleeper interface {
	// Yield lets others run: other goroutines of the process where ranks share
	// one, other processes of the machine where they do not.
	Yield()
	// Prepare opens a doze: a Ring after it ends the Sleep with this ticket.
	Prepare() (ticket uint32)
	// Sleep returns when rung since Prepare, or after nanos nanoseconds (forever
	// if negative). It may return early.
	Sleep(ticket uint32, nanos int64)
	// Idle is Sleep for a goroutine beside others that compute: it gives Go's
	// processor away at once, where Sleep may keep it until the scheduler's monitor
	// takes it, up to 10 ms later, and costs less.
	Idle(ticket uint32, nanos int64)
	// Ring ends every Sleep and Idle of this rank.
	Ring()
}
