package transport

// HeaderSize is the number of bytes of a Header on a wire.
const HeaderSize = 24

// Header is sent with every message. Its three words belong to the engine. The transport copies
// them without interpreting them. A Header is a value of machine words, not a slice, so that the
// compiler passes it in registers.
type Header struct{ A, B, C uint64 }

// Caps are the capabilities of an Endpoint. The engine chooses its protocols only by the Caps, and
// never by the kind of the transport.
type Caps struct {
	// MaxEager is the largest payload in bytes that Send accepts.
	MaxEager int
	// EagerBest is the largest payload in bytes for which Send is the fastest way. For longer
	// payloads the engine prefers a rendezvous if Get or Put is possible.
	EagerBest int
	// EagerAlone takes the place of EagerBest while only very few messages are in flight to the
	// peer. The method Quiet of the Endpoint reports this state (Quieter). A rendezvous takes one
	// more round trip, and only other messages in flight can hide the latency of this round trip. 0
	// means EagerBest.
	EagerAlone int
	// EagerBoth takes the place of EagerBest while streams of messages go in both directions and Get is
	// possible. A Send costs each side a copy of the payload, and in a stream in one direction the two
	// sides copy at the same time. In both directions, each side makes both copies. EagerBoth is at most
	// EagerBest; 0 means EagerBest. The engine decides whether messages stream in both directions.
	EagerBoth int
	// Get is true if this rank can read exposed memory of the peer.
	Get bool
	// Put is true if this rank can write exposed memory of the peer.
	Put bool
	// FetchAdd is true if this rank can add to a 64-bit word of the peer atomically.
	FetchAdd bool
	// Handover is true if Map maps memory of the peer's arena, so that a sender can hand over memory
	// by sending the key of the memory.
	Handover bool
	// CostlySend is true if a Send costs several times as much as the copying of a small message.
	// It is then better if waiting messages share one Send.
	CostlySend bool
	// MaxReads is the largest number of Gets that may be in flight to this peer (with RDMA
	// the negotiated initiator depth, ORD; in package shm, Puts and FetchAdds also count). 0 means
	// that Get is impossible.
	MaxReads int
}

// Quieter is implemented by an Endpoint that knows how many messages are in flight to its peer.
// Quiet reports whether only very few messages are in flight.
type Quieter interface{ Quiet() bool }

// Scheduled is implemented by an Endpoint that knows whether its peer runs. Away reports whether
// the peer has yielded its processor to other processes, or sleeps. The answer may be out of date
// when it is returned.
type Scheduled interface{ Away() bool }

// Access is a set of operations that peers may apply to exposed memory.
type Access uint8

// The rights of Expose. They can be combined.
const (
	AccessRead   Access = 1 << iota // peers may Get
	AccessWrite                     // peers may Put
	AccessAtomic                    // peers may FetchAdd
)

// Key names exposed memory. It is plain data, so that messages can contain it. A Key has a meaning
// only for endpoints to the rank that owns the memory.
type Key struct {
	// Addr is the address or offset of the first byte. The owner of the memory defines whether Addr
	// is an address or an offset.
	Addr uint64
	// Token identifies the memory in which Addr lies. With RDMA it is the rkey (the STag of iWARP).
	Token uint64
}

// At returns the key of the memory that begins off bytes after k.
func (k Key) At(off int) Key { return Key{k.Addr + uint64(off), k.Token} }

// Handler receives the events that Poll finds. Poll calls the methods of the Handler one at a time,
// on the goroutine that called Poll.
type Handler interface {
	// Arrive delivers one message of the peer. payload is valid during the call.
	Arrive(peer int, h Header, payload []byte)
	// Completed reports the end of the Get, Put or FetchAdd that was called with this token. For a
	// FetchAdd, value is the old value of the word. For a Get or Put, value is 0. After an error
	// the contents of dst are undefined, but the transport no longer accesses dst.
	Completed(peer int, token uint64, value uint64, err error)
	// Down reports the loss of a peer, once, after every operation on the peer was completed.
	Down(down *PeerDown)
}

// Transport connects this rank with the ranks that it can reach.
type Transport interface {
	// Name returns a short name in lower case: "shm", "rdma", "fake".
	Name() string
	// Reach returns nil if this rank can reach peer. Otherwise it returns an error that is
	// ErrNotSupported and contains the reason. Reach makes no connection.
	Reach(peer int) error
	// Endpoint returns the endpoint to a peer. It returns the same endpoint in each call. The
	// transport makes a connection on first use. Send returns ErrAgain until the connection is
	// established.
	Endpoint(peer int) (Endpoint, error)
	// Poll passes arrived messages to h, and advances bulk transfers. Poll does a bounded amount of
	// work: at most budget messages, and about 1 MiB of copies. It returns the amount of work: the
	// events, the steps of transfers, and other work of the transport. 0 means that there was no
	// work. The error concerns the transport as a whole. Handler.Down reports an error of a single
	// peer.
	Poll(h Handler, budget int) (int, error)
	// Arm makes the transport ring the rank's Sleeper, or end a Doze (see Dozer), at the next arrival,
	// if the arrival comes before Disarm. If a message or event has already arrived, or if a bulk transfer in
	// flight needs Poll, Arm returns false and does not arm the transport.
	Arm() bool
	// Disarm cancels Arm. It may be called when the transport is not armed.
	Disarm()
	// Expose makes b accessible to peers for the operations in access. Any other operation on b
	// fails with ErrBadKey and does not change b. There is one exception: the whole of an arena may
	// always be accessible to peers. The caller must keep b reachable until Conceal. If access is only
	// AccessRead, the caller must not change b until Conceal, because Expose may copy b, and peers then
	// read the copy.
	Expose(b []byte, access Access) (Key, error)
	// Conceal ends an Expose. When it returns nil, no peer accesses the memory any more (for the
	// exception in package shm, see its Conceal). An error says why a peer may still access the
	// memory.
	Conceal(k Key) error
	// MarkDown tells the transport that the process of this peer has ended. The caller knows this, for
	// example, because the node agent has reaped the process. The process no longer accesses any memory, so the transport
	// may use again all memory that the process could access. A later Poll reports the loss of the peer, with
	// the cause of the first call of MarkDown or GiveUp, unless the loss was reported before. Until then,
	// messages that the peer sent before its end still arrive if they can. Any goroutine may call MarkDown at
	// any time, also after GiveUp.
	MarkDown(peer int, cause error)
	// GiveUp tells the transport that this rank exchanges nothing more with this peer, although the
	// process of the peer lives or may live, for example because the peer violates the protocol. A later
	// Poll reports the loss, as after MarkDown; until then, the transport may deliver or discard messages of
	// the peer. Until MarkDown, the transport does not use memory again to which the peer may still write,
	// such as a ring. A Get, Put or FetchAdd in flight completes only when the peer no longer accesses the
	// caller's memory for it. The loss is reported after these completions. Both happen after MarkDown at the
	// latest. GiveUp has no effect after MarkDown or after an earlier GiveUp. Any goroutine may call GiveUp at any time.
	GiveUp(peer int, cause error)
	// Close ends every connection and frees the resources of the transport. Peers see
	// an orderly end, not a loss. A second Close returns an error that is ErrClosed.
	Close() error
}

// Endpoint is a rank's access to one peer.
type Endpoint interface {
	// Caps returns the capabilities. They may change, for example when a connection is established.
	// The engine calls Caps until Send has accepted a first message, and does not notice later changes.
	Caps() Caps
	// Send copies header and payload into the lane. If there is no room, Send returns ErrAgain and
	// has no effect. If the payload exceeds Caps.MaxEager, Send returns ErrTooLong. The transport may
	// hold back an accepted message (see the rules in the package comment).
	Send(h Header, payload []byte) error
	// Get reads len(dst) bytes of the peer's memory into dst. If Get returns nil, Completed(token)
	// follows in a later Poll.
	Get(dst []byte, src Key, token uint64) error
	// Put writes src into the peer's memory. When Completed(token) reports success, the bytes are
	// in place in the peer's memory. They are in place before the arrival of any
	// message that is sent after Completed.
	Put(src []byte, dst Key, token uint64) error
	// FetchAdd adds delta to an 8-byte aligned word of the peer, and completes with the old value
	// of the word.
	FetchAdd(dst Key, delta, token uint64) error
	// Map returns n bytes of the peer's arena at k as memory of this process. It copies no bytes. The
	// error is ErrNotSupported if the transport cannot map the memory that k names, and ErrBadKey if k
	// names the arena but the arena does not contain the n bytes.
	Map(k Key, n int) ([]byte, error)
}

// Preparer is implemented by an Endpoint that can do in advance some of the work that the first
// messages to its peer need, such as connecting.
type Preparer interface {
	// Prepare is called when the peer has joined the job, at most once, and before the first
	// Send.
	Prepare()
}

// Slow is implemented by a Transport whose Poll may make system calls. If Slow returns true, a Poll takes about as long
// as a yield of the processor. A waiting goroutine then loses little time if it yields after each Poll.
type Slow interface{ Slow() bool }

// Locking is implemented by a Transport that also works outside of calls of its methods, for
// example in the function of a timer.
type Locking interface {
	// UseLock is called once, before any other method. locked acquires the lock under which the engine
	// calls the methods, and runs f. After the engine's last call of a method, locked does not run f any
	// more.
	UseLock(locked func(f func()))
}

// Arena is this rank's range of node memory, without an allocator. A transport whose ranks can
// name each other's memory provides it.
type Arena interface {
	// Size returns the length of the range in bytes. Most pages are not backed by memory until
	// they are first accessed.
	Size() int
	// Bytes returns n bytes at off. The caller's allocator decides who owns these bytes. Bytes fails if
	// the arena does not contain all of these bytes. In package shm, Bytes also fails if the bytes are not
	// contiguous in this process.
	Bytes(off, n int) ([]byte, error)
	// Discard gives the pages of [off, off+n) back to the machine if it can. Their contents
	// become zero in any case. off and n are multiples of the page size.
	Discard(off, n int) error
	// Key returns the key under which peers Map, Get or Put the bytes at off. No
	// Expose is needed.
	Key(off int) Key
	// Offset returns the offset of b in the arena. It returns false if b is not in the arena.
	Offset(b []byte) (int, bool)
}

// Sleeper is the means by which the goroutines of one rank yield and sleep until an arrival. Any
// goroutine may call its methods.
type Sleeper interface {
	// Yield yields the processor. If ranks share a process, it yields to other goroutines of the
	// process. Otherwise it yields to other processes of the machine.
	Yield()
	// Prepare returns a ticket for Sleep or Idle. Any Ring after Prepare ends a Sleep or Idle with
	// that ticket, even if the Ring comes before the Sleep or Idle.
	Prepare() (ticket uint32)
	// Sleep returns when there was a Ring since Prepare, or after nanos nanoseconds. If nanos is
	// negative, there is no time limit. Sleep may return early.
	Sleep(ticket uint32, nanos int64)
	// Idle does the same as Sleep, and is for a process in which other goroutines compute. Idle
	// releases the P of Go's scheduler at once. Sleep may hold the P for up to 10 ms, until the
	// scheduler's monitor retakes it. But Sleep costs less.
	Idle(ticket uint32, nanos int64)
	// Ring ends every Sleep and Idle of this rank.
	Ring()
}
