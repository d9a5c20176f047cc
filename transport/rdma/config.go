package rdma

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// Config is the identity of a rank, its addresses, and its time limits. Rank, Size, Rails, Secret,
// Lookup and Sleeper are required. In the optional fields except Incarnation and Idle, a duration or
// number of 0 means the default.
type Config struct {
	// Rank is the number of this rank, in [0, Size). Incarnation is the number of times that the
	// rank has been started before.
	Rank, Size  int
	Incarnation uint16
	// Job names the job. Secret proves membership in the job. Secret must not be modified
	// afterwards.
	Job    string
	Secret []byte
	// Rails are the adapters to open, at least one and at most 256, in the order of preference. The
	// last rail is the last resort, usually iWARP over TCP.
	Rails []Rail
	// Missing names the adapters that are not among the rails, each with the reason. Explain
	// reports them.
	Missing []string
	// Lookup returns the locations at which the rails of a rank listen, best first, or an error
	// that says why the rank has no address. Lookup may be called on any goroutine, for example when
	// a connection is made.
	Lookup func(rank int) ([]Location, error)
	// Sleeper is rung when something arrives while the transport is armed, and when Poll has other work,
	// for example when a connection makes progress.
	Sleeper transport.Sleeper
	// Log is called with one human-readable line of text, without a newline, for rare events, such
	// as the first stranger (a sender without the secret) or the failure of an adapter. Log is called on a
	// goroutine of its own, without a lock, and may block. Only Close waits for Log, for at most a
	// second. Log may be nil.
	Log func(line string)

	// ActorAddress is the address in the PIDs of all actors of Transport.ActorSystem. "" means
	// protoactor's default address, which is valid only within this process.
	ActorAddress string

	// Arena is memory of the rank that lasts as long as the transport. If registrations pin pages
	// (verbs.Attributes.PinsMemory), memory in the arena that an operation uses is registered once, and
	// stays registered until it is evicted. The allocator of the arena has to use the result of Transport.Arena
	// instead of this Arena. The arena must be a memory mapping of its own. Arena may be nil, and
	// is not used if registrations pin nothing.
	Arena transport.Arena
	// CopyBelow is a length in bytes. If registrations pin pages, the bytes of a shorter Get, Put or
	// exposure for reading outside of the arena are usually copied through registered memory. 0 means that
	// the length is measured. A negative number means that bytes are copied only if their memory cannot be
	// registered.
	CopyBelow int

	// Slot is the size in bytes of the receive of an eager frame. The default is 65 KiB if the job has at
	// most 33 ranks and no adapter pins memory, and otherwise 17 KiB. The size is reduced if many ranks
	// share the memory for receives.
	Slot int
	// ReadsIn (IRD) and ReadsOut (ORD) are the numbers of RDMA Reads that a connection serves and
	// issues at a time. The default, which is also the maximum, is 16, or 8 if the job has more
	// than 129 ranks. Both numbers are reduced to what the adapter supports. NoReads sets both to 0.
	// Then bytes are transferred by Write.
	ReadsIn, ReadsOut int
	NoReads           bool
	// NoCRC reports whether this side can do without checksums if they are optional in the
	// provider.
	NoCRC bool
	// Companion reports whether this transport is polled together with a faster transport. If
	// Companion is true, Poll polls the first rail less often while nothing arrives, so that it does
	// not delay the polls of the faster transport.
	Companion bool

	// Attempt, Confirm, Goodbye, RetryMin, RetryMax and GiveUp correspond to fields of package peering's
	// Config. Attempt is the maximum duration of a connection request (default 5 s), and at most GiveUp.
	// Confirm is the time that an accepted connection may stay without its first message (5 s).
	// Goodbye is the maximum duration of an orderly end (2 s). RetryMin and RetryMax (5 ms
	// and 1 s) define the pause between attempts. Half of it is random. Therefore the first pause may be
	// as short as RetryMin/2. Some answers of the peer cause a pause longer than RetryMax. GiveUp is the
	// time for which new attempts are made after a connection was wanted (30 s).
	Attempt, Confirm, Goodbye, RetryMin, RetryMax, GiveUp time.Duration
	// Absence is passed to package peering (2 s). It is the time for which connections
	// to a peer are attempted if the peer was never connected and nothing listens at its address.
	// Own reports whether an address of a peer on another host is an address of this host, too. If
	// all addresses of a peer are addresses of this host, and a connection to them is refused, the
	// peer is lost at once. Actors call Own. nil means that Own is false for all addresses.
	Absence time.Duration
	Own     func(peer int, address netip.Addr) bool
	// Host returns the name of the host of a rank, for errors. Host may be nil. Actors call Host.
	Host func(rank int) string
	// Supervised reports whether the launcher reports the end of a rank by MarkDown. If Supervised
	// is true and a peer does not answer requests that its operating system accepts, this rank
	// assumes that the peer's process is stopped (for example by SIGSTOP). This rank goes on
	// waiting for the peer after GiveUp, and logs a line about the wait.
	Supervised bool
	// Departure bounds the wait for the last messages of a peer that was marked down (250 ms). The
	// transport waits until the peer's connections have ended, because until then messages of the
	// peer may arrive. When a process is killed, its operating system ends the connections at once.
	// If the host of the peer has lost power, or if the peer still runs, the connections do not
	// end.
	Departure time.Duration
	// Linger bounds the time for which Close waits while no peer acknowledges any of the messages
	// that were sent (30 s). Messages that are not acknowledged after this time may be lost, and
	// Close logs a line about them. Close does not wait after the last adapter has failed.
	Linger time.Duration
	// Recovery is the time after the loss of a connection in which its pair of adapters is tried
	// only after all other pairs. Recovery is also the minimum time for which a connection on a worse
	// pair lasts before this rank tests whether a better pair works. The default is 10 s. Each pause
	// between later tests is twice as long as the pause before it, up to 32 times Recovery.
	Recovery time.Duration
	// Idle is the time between two checks of a connection. A check begins to end the connection if there
	// was no traffic since the previous check. The connection stays if the peer has operations in
	// progress. 0 means that there are no checks.
	Idle time.Duration
}

const (
	slotDefault  = 17 << 10 // a message of 16 KiB and the heads of its frame and record
	burstSlot    = 16 << 10 // size of the longest eager frame while many messages are in flight (Caps.EagerBest)
	slotMin      = 1 << 10
	readsDefault = 16
	// goodbyeDefault and confirmDefault are the defaults of Goodbye and Confirm in package peering. They are
	// repeated here, because Close and acceptSide need the values.
	goodbyeDefault = 2 * time.Second
	confirmDefault = 5 * time.Second
	giveUpDefault  = 30 * time.Second
	attemptDefault = 5 * time.Second
	lingerDefault  = 30 * time.Second
	// recoveryDefault is longer than an outage of a network link that fails and recovers
	// repeatedly.
	recoveryDefault = 10 * time.Second
	departDefault   = 250 * time.Millisecond
	// slotLong is the default of Slot if no adapter pins memory and the job has at most longSlotPeers+1 ranks.
	// Without pinning, unused receives occupy no memory. With so few ranks, every peer can have a long window
	// within credit.BudgetBytes. A slot of slotLong bytes has room for a message of 64 KiB and the heads.
	slotLong      = 65 << 10
	longSlotPeers = 32
)

// populate checks the configuration and sets the defaults.
func (c *Config) populate() error {
	switch {
	case c.Size < 1 || c.Rank < 0 || c.Rank >= c.Size:
		return fmt.Errorf("rdma: Config: rank %d does not exist in a job of %d ranks", c.Rank, c.Size)
	case len(c.Rails) == 0 || c.Lookup == nil || c.Sleeper == nil:
		return errors.New("rdma: Config needs Rails, Lookup and Sleeper")
	case len(c.Rails) > railsMax:
		return fmt.Errorf("rdma: %d rails, at most %d", len(c.Rails), railsMax)
	case slices.ContainsFunc(c.Rails, func(r Rail) bool { return r.Provider == nil }):
		return errors.New("rdma: a rail needs a Provider")
	case len(c.Secret) == 0:
		return errors.New("rdma: Config.Secret is empty: without it, connections of the job cannot be distinguished from connections of strangers")
	}
	if c.Slot > 0 {
		c.Slot = max(c.Slot, slotMin)
	}
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
	}{{&c.Attempt, attemptDefault}, {&c.Confirm, confirmDefault}, {&c.Goodbye, goodbyeDefault}, {&c.GiveUp, giveUpDefault}, {&c.Departure, departDefault}, {&c.Linger, lingerDefault}, {&c.Recovery, recoveryDefault}} {
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
