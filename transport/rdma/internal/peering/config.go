package peering

import "time"

// Random is a source of random bits; math/rand/v2 has several.
type Random interface{ Uint64() uint64 }

// Config identifies the two ranks and holds the time limits of this side. Durations of 0
// are the defaults.
type Config struct {
	// Rank is this side, Peer the other. They differ.
	Rank, Peer uint32
	// Incarnation is this side's.
	Incarnation uint16
	// Attempt is how long one request may take; 5 s. It should be longer than the
	// provider's own handshake takes.
	Attempt time.Duration
	// Confirm is how long an accepted connection may stay without the first
	// message; 5 s.
	Confirm time.Duration
	// Goodbye is how long a BYE or the FIN after it may take; 2 s.
	Goodbye time.Duration
	// RetryMin and RetryMax bound the pause between two attempts, which doubles
	// from one to the other: 5 ms and 1 s. Up to half of it is random.
	RetryMin, RetryMax time.Duration
	// GiveUp is how long after a connection was wanted new attempts are made; 30 s. The
	// peer is down when the last has failed.
	GiveUp time.Duration
	// Absence is how long connections are attempted to a peer at whose address nothing
	// listens; 2 s. It bounds the time from the first refusal for a peer with which no
	// connection was in use; one with which there was has died, or it would have said BYE.
	Absence time.Duration
	// Supervised says that the peer is monitored, and that its death is the event Gone.
	// Without that event a peer whose host accepts requests, but which does not answer
	// them, was stopped and does not count as lost.
	Supervised bool
	// Random makes pauses. It is used during Step only.
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

// pause returns how long to wait before attempt number tries+1.
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
