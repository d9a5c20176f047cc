package negotiation

import (
	"crypto/hmac"
	"encoding/binary"
	"fmt"
	"time"
)

// RejectSize is the length of a Reject in bytes.
const RejectSize = 32

const (
	reasonAt    = 4
	rejectTagAt = RejectSize - tagSize
)

// Reason is the reason for which a connection was refused.
type Reason uint16

// The reasons.
const (
	Version      Reason = 1 + iota // major versions differ
	Job                            // another job
	Auth                           // the tag does not verify
	WrongRank                      // the source is not another rank of the job, or is not the expected rank
	StaleEpoch                     // the source is an older incarnation, or was declared dead
	Duplicate                      // the attempt is not newer than an attempt already seen
	Simultaneous                   // the refusing side's own request wins
	Busy                           // out of resources for the moment
	Depth                          // the reply wants more reads in flight than were offered
	Shutdown                       // the refusing side is ending
	BadLength                      // no record, or a record of another form
	Reachable                      // the answer to a Look: a connection could be made
)

// reasons has the name of each reason, and the remedy.
var reasons = [...]struct{ name, remedy string }{
	Version:      {"version", "run the same release of gorun on every node"},
	Job:          {"job", "the address belongs to another job: look for ranks of an earlier run on that node"},
	Auth:         {"authentication", "the ranks have different job secrets, or the request was meant for another rank: start all ranks by one gorun, or give all the same secret file"},
	WrongRank:    {"wrong rank", "the ranks disagree on their numbers: look for ranks of an earlier run, and for two ranks with one number"},
	StaleEpoch:   {"stale epoch", "this process was declared dead and replaced: it should end"},
	Duplicate:    {"duplicate", "a later attempt follows by itself"},
	Simultaneous: {"simultaneous", "the connection of the other direction follows by itself"},
	Busy:         {"busy", "a later attempt follows by itself; if it lasts, raise the limit of open files or use fewer ranks per node"},
	Depth:        {"depth", "the peer grants more than it was offered: run the same release of gorun on every node"},
	Shutdown:     {"shutdown", "the peer has finished: send to it earlier"},
	BadLength:    {"no record", "something that is not a rank of gorun answers or asks there, or private data were lost on the way"},
	Reachable:    {"reachable", "the request only asked whether the way works"},
}

// String returns the name of the reason.
func (r Reason) String() string {
	if r == 0 || int(r) >= len(reasons) {
		return fmt.Sprintf("reason %d", uint16(r))
	}
	return reasons[r].name
}

// Remedy returns a clause, without a full stop, that says what the user can do about the refusal.
func (r Reason) Remedy() string {
	if r == 0 || int(r) >= len(reasons) {
		return "run the same release of gorun on every node"
	}
	return reasons[r].remedy
}

// Temporary reports whether another attempt can succeed.
func (r Reason) Temporary() bool { return r == Duplicate || r == Simultaneous || r == Busy }

// Reject is the private data of a refusal, 32 bytes, big-endian:
//
//	off size field
//	  0   2  magic 0x6752
//	  2   1  major version << 4 | minor version
//	  3   1  type 3 << 4 | length/4 (8)
//	  4   2  reason
//	  6   1  smallest major version that the refusing side reads
//	  7   1  largest major version that the refusing side reads
//	  8   2  reserved: 0
//	 10   2  newest known incarnation of the refused side (StaleEpoch)
//	 12   4  delay before the next attempt in milliseconds (Busy)
//	 16  16  HMAC-SHA256(key of rejects, bytes 0..15, rank that refuses, the first 56
//	         bytes of the request as it was received), first 16 bytes
//
// Only a refusal with a valid tag ends more than one attempt. So an attacker that can write to a
// connection can end only this connection. Only a rank of the job can prevent further attempts.
type Reject struct {
	Reason Reason
	// MajorMin and MajorMax are the range of major versions that the refusing side reads.
	// AppendReject does not read these fields: it writes the range of this package.
	MajorMin, MajorMax uint8
	// Incarnation is the newest known incarnation of the refused side, for StaleEpoch.
	Incarnation uint16
	// Retry is the minimum delay before the next attempt, for Busy. On the wire, Retry is a number
	// of whole milliseconds.
	Retry time.Duration
}

// AppendReject appends the refusal r to b. request is the private data of the refused request, as
// it was received. request may be any bytes, because requests that contain no record are refused,
// too. Padding is ignored.
func (c *Credentials) AppendReject(b []byte, r *Reject, request []byte) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint16(b, magic)
	b = append(b, Major<<4|Minor, byte(kindReject)<<4|RejectSize/4)
	b = binary.BigEndian.AppendUint16(b, uint16(r.Reason))
	b = append(b, majorMin, majorMax, 0, 0)
	b = binary.BigEndian.AppendUint16(b, r.Incarnation)
	millis := min(max(r.Retry.Milliseconds(), 0), 1<<32-1)
	b = binary.BigEndian.AppendUint32(b, uint32(millis))
	return append(b, c.tag(b[at:], kindReject, c.Rank, upTo(request, Size))...)
}

// OpenReject verifies the private data b of a refusal. request is the record that was refused, and
// from is the rank to which the record was sent. An error means that the refusal proves nothing and
// ends only this attempt. The error is an *UnprovenError if b begins like a Reject.
func (c *Credentials) OpenReject(b, request []byte, from uint32) (Reject, error) {
	// The major version is not checked. The layout of a reject is the same in all versions, so that
	// a side with an unknown version can report the version as the reason of the reject.
	if len(b) < reasonAt+2 || binary.BigEndian.Uint16(b) != magic || kind(b[3]>>4) != kindReject {
		return Reject{}, fmt.Errorf("read the refusal: %d bytes of private data contain no Reject", len(b))
	}
	reason := Reason(binary.BigEndian.Uint16(b[reasonAt:]))
	if len(b) < RejectSize || !hmac.Equal(b[rejectTagAt:RejectSize], c.tag(b[:rejectTagAt], kindReject, from, request)) {
		return Reject{}, &UnprovenError{Reason: reason}
	}
	return Reject{
		Reason:      reason,
		MajorMin:    b[6],
		MajorMax:    b[7],
		Incarnation: binary.BigEndian.Uint16(b[10:]),
		Retry:       time.Duration(binary.BigEndian.Uint32(b[12:])) * time.Millisecond,
	}, nil
}

// upTo returns the first n bytes of b, or all bytes of b if b is shorter.
func upTo(b []byte, n int) []byte { return b[:min(n, len(b))] }
