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
	// AccessRemoteAtomic allows the peer's atomics. AccessLocalWrite is always set with it. It
	// is used only if Attributes.Atomics is set.
	AccessRemoteAtomic
)

// ProtectionDomain ties memory and queue pairs together: neither the posted work of a queue pair
// nor its peer can access memory of another domain.
type ProtectionDomain interface {
	// Register makes memory usable under the keys that it returns. It is called without the
	// adapter's lock, concurrently with all methods but Close, and may block.
	Register(data []byte, access Access) (Registered, error)
	// Deregister ends the registration. Like Register, it is called without the lock and may
	// block. When it returns, no peer accesses the memory any more. It is also called for
	// memory whose remote access a peer's Send has invalidated; the invalidation does not
	// affect local use. No work that is posted later uses the memory.
	Deregister(Registered) error
	// Close frees the domain. No memory, queue or queue pair is left in it.
	Close() error
}

// Registered is the result of Register, which Deregister takes.
type Registered struct {
	// LKey is the local key. It is unique in the device as long as the memory is registered.
	LKey uint32
	// RKey is the remote key, which peers use; on iWARP it equals LKey (the STag).
	RKey uint32
	// Address is the address by which peers name the first byte.
	Address uint64
	// Mark is for the provider's use.
	Mark uint64
}

// Segment is local memory of posted work: bytes that lie within registered memory, and the local
// key of that memory. An empty segment is legal; its key has no meaning.
type Segment struct {
	Data []byte
	LKey uint32
}
