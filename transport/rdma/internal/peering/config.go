package peering

import "time"

// Random is a source of random bits; math/rand/v2 has several.
type Random interface{ Uint64() uint64 }

// Config identifies the two ranks and has the time limits of this side. A duration of 0 stands for
// the default, which the comment of each field gives.
type Config struct {
	// Rank is the rank of this side, Peer the rank of the other side. They differ.
	Rank, Peer uint32
	// Incarnation is the incarnation of this rank.
	Incarnation uint16
	// Attempt is how long one request may take; 5 s. It should be longer than the
	// provider's own handshake takes.
	Attempt time.Duration
	// Confirm is how long an accepted connection may stay without the first
	// message; 5 s.
	Confirm time.Duration
	// Goodbye is how long the BYE-ACK to a BYE that was sent may take, or the FIN after a BYE
	// that was received; 2 s.
	Goodbye time.Duration
	// RetryMin and RetryMax bound the pause between two attempts: 5 ms and 1 s. It doubles after
	// each attempt, from RetryMin up to RetryMax. Up to half of it is random.
	RetryMin, RetryMax time.Duration
	// GiveUp is for how long, from the time when a connection is first wanted, new attempts are
	// made; 30 s. The peer is declared down when the last attempt has failed.
	GiveUp time.Duration
	// Absence is how long connections are attempted to a peer at whose address nothing listens,
	// from the first refusal; 2 s. It applies to a peer with which no connection was in use
	// yet. A peer with which a connection was in use has died, because otherwise it would have
	// sent BYE, and is declared down after a few attempts.
	Absence time.Duration
	// Supervised reports that the peer is monitored: its death causes the event Gone. If that
	// event has not come, a peer that does not answer requests which its host accepts was stopped,
	// and is not declared down.
	Supervised bool
	// Random is the source of the random part of pauses. It is used only during Step.
	Random Random
}

func (c *Config) populate() {
	for _, d := range []struct {
		at    *time.Duration
		value time.Duration
	}{
		{&c.Attempt, 5 * time.Second},
		{&c.Confirm, 5 * time.Second},
		{&c.Goodbye, 2 * time.Second},
		{&c.RetryMin, 5 * time.Millisecond},
		{&c.RetryMax, time.Second},
		{&c.GiveUp, 30 * time.Second},
		{&c.Absence, 2 * time.Second},
	} {
		if *d.at <= 0 {
			*d.at = d.value
		}
	}
}

// pause returns how long to wait after a failed attempt, if tries attempts have failed before it.
func (c *Config) pause(tries int) time.Duration {
	full := c.RetryMax
	if tries < 30 {
		full = min(c.RetryMin<<tries, c.RetryMax)
	}
	half := full / 2
	return full - half + time.Duration(c.Random.Uint64()%uint64(half+1))
}

// newer reports whether serial number a is later than b (RFC 1982).
func newer(a, b uint16) bool { return int16(a-b) > 0 }
