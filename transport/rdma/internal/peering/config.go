package peering

import "time"

// Random is a source of random bits. The sources of math/rand/v2 implement it.
type Random interface{ Uint64() uint64 }

// Config identifies the two ranks and has the time limits of this side. A duration of 0 or less
// stands for the default, which the comment of each field gives.
type Config struct {
	// Rank is the rank of this side, Peer the rank of the other side. They differ.
	Rank, Peer uint32
	// Incarnation is the incarnation of this rank.
	Incarnation uint16
	// Attempt is the maximum duration of one request; the default is 5 s. Attempt should be longer
	// than the provider's own time limit for a request.
	Attempt time.Duration
	// Confirm is the maximum time for which an accepted connection may stay without the first
	// message; the default is 5 s.
	Confirm time.Duration
	// Goodbye is the maximum time between sending BYE and receiving BYE-ACK, and between receiving
	// BYE and the FIN; the default is 2 s.
	Goodbye time.Duration
	// RetryMin and RetryMax define the pause between two attempts; the defaults are 5 ms and 1 s.
	// The maximum pause doubles after each failed attempt, from RetryMin up to RetryMax. The actual
	// pause is a random time between half of this maximum and the maximum. It is longer if the peer
	// requires a longer delay (Busy), and at least 2*RetryMax after an attempt during which this
	// side has refused a simultaneous request of the peer.
	RetryMin, RetryMax time.Duration
	// GiveUp is the time for which new attempts are made, counted from the time when the connection
	// is first wanted; the default is 30 s. If no attempt succeeds, the peer is declared down when
	// this time has passed and the last attempt has failed.
	GiveUp time.Duration
	// Absence is the time for which connections are attempted to a peer at whose address nothing
	// listens, counted from the first refusal; the default is 2 s. Absence applies to a peer with
	// which no connection was in use yet. If a connection with the peer was in use, and nothing
	// listens at its address any more, the peer has died, because a peer whose end is orderly sends
	// BYE. Such a peer is declared down after a few attempts.
	Absence time.Duration
	// Supervised reports whether the launcher monitors the peer. Then the death of the peer
	// causes the event Gone. If the host of a Supervised peer accepts requests that the peer does
	// not answer, and the event Gone has not happened, the peer's process is assumed to be stopped
	// (for example by SIGSTOP). Such a peer is not declared down.
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

// pause returns the time to wait after a failed attempt. tries is the number of attempts that
// failed before this attempt.
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
