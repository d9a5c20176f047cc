package rdma

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// Config is the identity of a rank, its addresses, and its time limits. Rank, Size,
// Rails, Secret, Lookup and Sleeper are required; durations and numbers of 0 are the
// defaults.
type Config struct {
	// Rank is this rank, in [0, Size). Incarnation counts its lives.
	Rank, Size  int
	Incarnation uint16
	// Job names the job, Secret proves membership in it. Neither is changed.
	Job    string
	Secret []byte
	// Rails are the adapters to open, in the order in which connections are tried on them;
	// at least one and at most 256. The last resort is the last one, usually iWARP over TCP.
	Rails []Rail
	// Missing says of adapters that are not among the rails why, for Explain.
	Missing []string
	// Lookup returns where the rails of a rank listen, best first, or an error that says why
	// it has no address. It is called when a connection is made, on any goroutine.
	Lookup func(rank int) ([]Location, error)
	// Sleeper is rung at arrivals while armed, and when a connection makes progress.
	Sleeper transport.Sleeper
	// Log takes one line for people, without a newline, about what happens once: the
	// first stranger. It is called on a goroutine of its own, without a lock, and may take
	// its time: nothing waits for it but Close, and that for a second. May be nil.
	Log func(line string)

	// ActorAddress is the address in the PIDs of the actors of connections. "" is
	// protoactor's own, which is valid in this process alone.
	ActorAddress string

	// Arena is memory of the rank that lasts: where registrations pin pages
	// (verbs.Attributes.PinsMemory), what lies there is registered once. Its allocator gets
	// Transport.Arena in its place. It must be a mapping of its own, may be nil, and is not
	// used otherwise.
	Arena transport.Arena
	// CopyBelow is the length of a Get or Put in bytes below which, outside of the arena, its
	// bytes are copied through registered memory, where registrations pin pages. 0 means
	// that it is measured, a negative number that they are copied only where they cannot be
	// registered.
	CopyBelow int

	// Slot is the size of an eager receive in bytes; 17 KiB. It becomes less where
	// many ranks share the memory for receives.
	Slot int
	// ReadsIn (IRD) and ReadsOut (ORD) are the RDMA Reads served and issued at a time
	// per connection; 16, at most what the adapter can, and 8 in large jobs. NoReads makes both 0, so that
	// bytes travel by Write.
	ReadsIn, ReadsOut int
	NoReads           bool
	// NoCRC says that this side can do without checksums where the provider has them
	// as an option.
	NoCRC bool
	// Companion says that this transport is polled together with a faster one, whose
	// polls it must not delay: it looks at the adapter less often while nothing comes.
	Companion bool

	// Attempt, Confirm, Goodbye, RetryMin, RetryMax and GiveUp are those of package
	// peering: how long a request may take (5 s), an accepted connection may stay
	// without its first message (5 s), an orderly end may take (2 s), the pause between
	// attempts (5 ms to 1 s), and for how long after a connection was wanted new attempts
	// are made (30 s). Attempt is at most GiveUp.
	Attempt, Confirm, Goodbye, RetryMin, RetryMax, GiveUp time.Duration
	// Absence is that of package peering: how long connections are attempted to a peer that
	// was never connected and at whose address nothing listens (2 s). Own reports whether
	// an address of a peer of another host is one of this host's, too: if such an address
	// refuses, and the peer has no other one, the peer is lost at once. It is called by
	// actors; nil knows none.
	Absence time.Duration
	Own     func(peer int, address netip.Addr) bool
	// Host returns the name of the host of a rank, for errors; it may be nil, and is
	// called by actors.
	Host func(rank int) string
	// Supervised says that the launcher reports the end of a rank by MarkDown. Then a rank
	// that was stopped, so that its system accepts requests that the rank does not answer,
	// is waited for beyond GiveUp, which is logged.
	Supervised bool
	// Departure bounds how long the end of the connections of a peer that was marked
	// down is waited for, before which its last messages may still come (250 ms): the
	// system of a process that was killed ends them at once, a machine without power and
	// a peer that is not gone do not.
	Departure time.Duration
	// Linger bounds how long Close waits for peers none of which acknowledges any message
	// that was sent (30 s). What is not acknowledged then may be lost, and the log says so.
	Linger time.Duration
	// Recovery is for how long after the loss of its connection an adapter is tried after all
	// others, and how long a connection on a worse one lasts before the better one is looked at
	// (10 s); the next looks come after pauses that double.
	Recovery time.Duration
	// Idle is how long a connection stays without traffic; 0 means for ever.
	Idle time.Duration
}

const (
	slotDefault  = 17 << 10 // a message of 16 KiB and its heads
	burstSlot    = 16 << 10 // up to which bursts of messages are eager, too
	slotMin      = 1 << 10
	readsDefault = 16
	// goodbyeDefault is peering's; Close needs to know it.
	goodbyeDefault = 2 * time.Second
	giveUpDefault  = 30 * time.Second
	attemptDefault = 5 * time.Second
	lingerDefault  = 30 * time.Second
	// recoveryDefault is longer than a link takes that comes and goes.
	recoveryDefault = 10 * time.Second
	departDefault   = 250 * time.Millisecond
)

// populate checks the configuration and fills in the defaults.
func (c *Config) populate() error {
	switch {
	case c.Size < 1 || c.Rank < 0 || c.Rank >= c.Size:
		return fmt.Errorf("rdma: rank %d of %d", c.Rank, c.Size)
	case len(c.Rails) == 0 || c.Lookup == nil || c.Sleeper == nil:
		return errors.New("rdma: Config needs Rails, Lookup and Sleeper")
	case len(c.Rails) > railsMax:
		return fmt.Errorf("rdma: %d rails, at most %d", len(c.Rails), railsMax)
	case slices.ContainsFunc(c.Rails, func(r Rail) bool { return r.Provider == nil }):
		return errors.New("rdma: a rail needs a Provider")
	case len(c.Secret) == 0:
		return errors.New("rdma: Config.Secret is missing: connections could not be told from those of strangers")
	}
	if c.Slot <= 0 {
		c.Slot = slotDefault
	}
	c.Slot = max(c.Slot, slotMin)
	for _, n := range []*int{&c.ReadsIn, &c.ReadsOut} {
		if *n <= 0 {
			*n = readsDefault
		}
		if c.NoReads {
			*n = 0
		}
	}
	for _, d := range []struct {
		at    *time.Duration
		value time.Duration
	}{{&c.Attempt, attemptDefault}, {&c.Goodbye, goodbyeDefault}, {&c.GiveUp, giveUpDefault}, {&c.Departure, departDefault}, {&c.Linger, lingerDefault}, {&c.Recovery, recoveryDefault}} {
		if *d.at <= 0 {
			*d.at = d.value
		}
	}
	c.Attempt = min(c.Attempt, c.GiveUp)
	if c.Own == nil {
		c.Own = func(int, netip.Addr) bool { return false }
	}
	return nil
}
