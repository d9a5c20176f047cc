package provider

// Access is what may be done with registered memory beside reading it locally.
type Access uint8

// The rights of Register. They can be combined.
const (
	// AccessLocalWrite lets receives, Reads and atomics of this side fill the memory.
	AccessLocalWrite Access = 1 << iota
	// AccessRemoteRead lets the peer's Reads.
	AccessRemoteRead
	// AccessRemoteWrite lets the peer's Writes. It comes with AccessLocalWrite.
	AccessRemoteWrite
	// AccessRemoteAtomic lets the peer's atomics. It comes with AccessLocalWrite, and only
	// where Attributes.Atomics is set.
	AccessRemoteAtomic
)

// ProtectionDomain ties memory and queue pairs together: neither posted work nor peers
// reach memory of another domain.
type ProtectionDomain interface {
	// Register makes memory usable under the keys it returns. It is called without the
	// adapter's lock, concurrently with everything but Close, and may take its time.
	Register(data []byte, access Access) (Registered, error)
	// Deregister ends that, in the same circumstances. When it returns, no peer touches the
	// memory any more. It comes also for memory whose remote access a peer's Send has
	// invalidated, which leaves the local use as it was. No work that is posted later uses
	// the memory.
	Deregister(Registered) error
	// Close frees the domain, which holds nothing any more.
	Close() error
}

// Registered is what a domain makes of registered memory.
type Registered struct {
	// LKey is unique in the device as long as the memory is registered.
	LKey uint32
	// RKey is what peers use; on iWARP it equals LKey (the STag).
	RKey uint32
	// Address is how peers name the first byte.
	Address uint64
	// Mark is the provider's own.
	Mark uint64
}

// Segment is local memory of posted work: bytes that lie within registered memory, and its
// local key. An empty segment is legal and has no key.
type Segment struct {
	Data []byte
	LKey uint32
}
