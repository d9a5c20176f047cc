package provider

// Access is the set of operations that registered memory allows besides local reads.
type Access uint8

// The rights of Register. They can be combined.
const (
	// AccessLocalWrite allows receives, Reads and atomics of this side to write to the memory.
	AccessLocalWrite Access = 1 << iota
	// AccessRemoteRead allows the peer's Reads.
	AccessRemoteRead
	// AccessRemoteWrite allows the peer's Writes. AccessLocalWrite is always set with it.
	AccessRemoteWrite
	// AccessRemoteAtomic allows the peer's atomics. AccessLocalWrite is always set with it. It is
	// used only if Attributes.Atomics is true.
	AccessRemoteAtomic
)

// ProtectionDomain ties memory and queue pairs together: neither the posted work of a queue pair
// nor its peer can access memory of another domain.
type ProtectionDomain interface {
	// Register makes memory usable under the keys that it returns. Register is called without the
	// adapter's lock, and may block. It may run concurrently with all methods except Close. If the
	// registration can succeed after other memory was deregistered, the error is
	// ErrInsufficientResources. If it cannot succeed, the error is another Fault.
	Register(data []byte, access Access) (Registered, error)
	// Deregister ends the registration. Like Register, it is called without the lock and may
	// block. When Deregister returns, no peer accesses the memory any more. Deregister is also
	// called for memory whose remote access a peer's Send has invalidated. The invalidation does
	// not affect the use of the memory by this side. Work that is posted after Deregister does not
	// use the memory.
	Deregister(Registered) error
	// Close frees the domain. When Close is called, the domain contains no memory, queue or queue
	// pair.
	Close() error
}

// Registered is the result of Register, and the argument of Deregister.
type Registered struct {
	// LKey is the local key. It is unique in the device as long as the memory is registered.
	LKey uint32
	// RKey is the remote key, which peers use. On iWARP it equals LKey (the STag).
	RKey uint32
	// Address is the address by which peers name the first byte.
	Address uint64
}

// Segment is local memory of posted work: bytes that lie within registered memory, and the local
// key of that memory. An empty segment is legal, and its key has no meaning.
type Segment struct {
	Data []byte
	LKey uint32
}
