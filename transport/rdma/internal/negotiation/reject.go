package negotiation

import (
	"encoding/binary"
	"fmt"
	"time"
)

// RejectSize is the length of a Reject in bytes.
const RejectSize = 20

// Reason says why a connection was refused.
type Reason uint16

// The reasons.
const (
	Version      Reason = 1 + iota // major versions differ
	Job                            // another job
	Auth                           // the tag does not verify
	WrongRank                      // no such source rank
	StaleEpoch                     // the source has a newer incarnation
	Duplicate                      // the attempt is not newer than one already seen
	Simultaneous                   // the refusing side's own request wins
	Busy                           // out of resources for the moment
	Depth                          // fewer reads in flight than the policy demands
	Shutdown                       // the refusing side is ending
	BadLength                      // no record, or one of another form
)

// reasons are the names of the reasons, and what one can do.
var reasons = [...]struct{ name, remedy string }{
	Version:      {"version", "run the same release of gorun on every node"},
	Job:          {"job", "the address belongs to another job: look for ranks of an earlier run on that node"},
	Auth:         {"authentication", "the ranks have different job secrets, or the request was meant for another rank: start all ranks by one gorun, or give all the same secret file"},
	WrongRank:    {"wrong rank", "the ranks disagree on who is who: look for ranks of an earlier run, and for two ranks with one number"},
	StaleEpoch:   {"stale epoch", "this process was declared dead and replaced: it should end"},
	Duplicate:    {"duplicate", "a later attempt follows by itself"},
	Simultaneous: {"simultaneous", "the connection of the other direction follows by itself"},
	Busy:         {"busy", "a later attempt follows by itself; if it lasts, raise the limit of open files or use fewer ranks per node"},
	Depth:        {"depth", "allow more reads in flight on this side, or lower the minimum on the other"},
	Shutdown:     {"shutdown", "the peer has finished: send before it does"},
	BadLength:    {"no record", "something that is not a rank of gorun answers or asks there, or private data were lost on the way"},
}

// String returns the name of the reason.
func (r Reason) String() string {
	if r == 0 || int(r) >= len(reasons) {
		return fmt.Sprintf("reason %d", uint16(r))
	}
	return reasons[r].name
}

// Remedy says what to do about it, in a clause without a full stop.
func (r Reason) Remedy() string {
	if r == 0 || int(r) >= len(reasons) {
		return "run the same release of gorun on every node"
	}
	return reasons[r].remedy
}

// Temporary reports whether another attempt can succeed.
func (r Reason) Temporary() bool { return r == Duplicate || r == Simultaneous || r == Busy }

// Reject is the private data of a refusal, 20 bytes, big-endian:
//
//	off size field
//	  0   2  magic 0x6752
//	  2   1  major version << 4 | minor version
//	  3   1  type 3 << 4 | length/4 (5)
//	  4   2  reason
//	  6   1  smallest major version understood
//	  7   1  largest major version understood
//	  8   1  IRD that the refused side has to offer (Depth)
//	  9   1  ORD that the refused side has to offer (Depth)
//	 10   2  newest incarnation of the refused side that is known (StaleEpoch)
//	 12   4  retry after so many milliseconds (Busy)
//	 16   4  nonce of the request, 0 if it could not be read
//
// It carries no tag: whoever can forge it can reset the connection as well. It
// ends one attempt and moves no data.
type Reject struct {
	Reason Reason
	// MajorMin and MajorMax are set by Append.
	MajorMin, MajorMax uint8
	// Required is what the refused side has to offer, for Depth.
	Required Depths
	// Incarnation is the newest one known of the refused side, for StaleEpoch.
	Incarnation uint16
	// Retry is how long to wait, in milliseconds on the wire, for Busy.
	Retry time.Duration
	// Nonce echoes the request; 0 if it could not be read.
	Nonce uint32
}

// Append adds the reject to b.
func (r *Reject) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, magic)
	b = append(b, Major<<4|Minor, byte(kindReject)<<4|RejectSize/4)
	b = binary.BigEndian.AppendUint16(b, uint16(r.Reason))
	b = append(b, majorMin, majorMax, depthByte(r.Required.IRD), depthByte(r.Required.ORD))
	b = binary.BigEndian.AppendUint16(b, r.Incarnation)
	millis := min(max(r.Retry.Milliseconds(), 0), 1<<32-1)
	b = binary.BigEndian.AppendUint32(b, uint32(millis))
	return binary.BigEndian.AppendUint32(b, r.Nonce)
}

// ParseReject reads the private data of a refusal. nonce is that of the request
// that was refused. An error says that the data are not ours: something else
// refused.
func ParseReject(b []byte, nonce uint32) (Reject, error) {
	// The refusing side may have a major version that this one does not know: the
	// layout of a reject is the same in all of them, so that it can say so.
	if len(b) < RejectSize || binary.BigEndian.Uint16(b) != magic || b[3] != byte(kindReject)<<4|RejectSize/4 {
		return Reject{}, fmt.Errorf("read the reject: %d bytes of private data are none of gorun's", len(b))
	}
	r := Reject{
		Reason:      Reason(binary.BigEndian.Uint16(b[4:])),
		MajorMin:    b[6],
		MajorMax:    b[7],
		Required:    Depths{IRD: int(b[8]), ORD: int(b[9])},
		Incarnation: binary.BigEndian.Uint16(b[10:]),
		Retry:       time.Duration(binary.BigEndian.Uint32(b[12:])) * time.Millisecond,
		Nonce:       binary.BigEndian.Uint32(b[16:]),
	}
	if r.Nonce != nonce && r.Nonce != 0 {
		return Reject{}, fmt.Errorf("read the reject: it answers nonce %#08x, the request had %#08x", r.Nonce, nonce)
	}
	return r, nil
}

// NonceOf returns the nonce in the private data of a request that may be
// damaged, or 0.
func NonceOf(request []byte) uint32 {
	if len(request) < Size || binary.BigEndian.Uint16(request) != magic {
		return 0
	}
	return binary.BigEndian.Uint32(request[nonceAt:])
}
