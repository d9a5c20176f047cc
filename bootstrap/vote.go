package bootstrap

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Purpose is what the members of a communicator agree on in an agreement.
type Purpose uint8

// Purposes of a vote.
const (
	// PurposeFlags: the members agree on the bitwise AND of the votes' Flags.
	PurposeFlags Purpose = iota + 1
	// PurposeShrink: the members agree on the members of a new communicator.
	PurposeShrink
)

// Vote is the vote of one rank in an agreement of the members of a communicator. The launcher
// decides the agreement when every member has voted, has left or has ended, see [Council].
type Vote struct {
	// Generation is the generation of the job in which the communicator was made. Generation is not sent. A
	// session that is in another generation refuses the vote.
	Generation int
	// Comm is the identity of the communicator. It is the same at all members, and no other communicator of
	// the same generation of the job has it.
	Comm uint64
	// Round counts the agreements of the communicator.
	Round   uint32
	Purpose Purpose
	Flags   uint64
	// Members has the world ranks of the members, ascending.
	Members []int
	// Acknowledged has the members whose end the rank has acknowledged, ascending.
	Acknowledged []int
}

// Decision is the result of an agreement. Every member that receives it gets the same result.
type Decision struct {
	Comm    uint64
	Round   uint32
	Purpose Purpose // 0 if the votes have different purposes
	Flags   uint64  // bitwise AND of the Flags of all votes that the Council has counted
	// Epoch is the number of ranks that had ended in this generation of the job, without leaving the job, before
	// the decision. A session gets the notices of these ends before the notice of the decision.
	Epoch uint32
	// Number is the number of the new communicator of PurposeShrink. Within a generation of the job, a number
	// is used again only after 1<<28 new communicators.
	Number uint32
	// Dead has, ascending, the members that had ended, without leaving the job, before the decision.
	Dead []int
	// Lost is a dead member whose end at least one voter has not acknowledged. If there are several such
	// members, Lost is the member that ended first. If there is none, Lost is -1.
	Lost int

	members []int // not sent
}

// Revocation says that a communicator is broken.
type Revocation struct {
	Generation int // the generation in which the communicator was made; not sent
	Comm       uint64
	Number     uint32 // number of the communicator at its members
	Rank       int    // world rank that broke the communicator; the launcher sets it
	Text       []byte // reason, at most RevocationMax bytes
}

// RevocationMax bounds the text of a revocation in bytes.
const RevocationMax = 512

// ballot is the part of a vote that several ranks of a node may have in common, together with these ranks.
type ballot struct {
	voters       []int // ascending
	purpose      Purpose
	flags        uint64
	acknowledged []int
}

// poll has the votes of several ranks in one agreement. Encoded, little endian, it is:
//
//	8 bytes   communicator
//	4 bytes   round
//	ranks     members
//	varint    number of ballots, each
//	  ranks   voters
//	  1 byte  purpose
//	  8 bytes flags
//	  ranks   acknowledged
type poll struct {
	comm    uint64
	round   uint32
	members []int
	ballots []ballot
}

// pollOf returns a poll with one vote.
func pollOf(rank int, v *Vote) *poll {
	return &poll{v.Comm, v.Round, v.Members, []ballot{{[]int{rank}, v.Purpose, v.Flags, v.Acknowledged}}}
}

// append appends the poll to b.
func (p *poll) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, p.comm)
	b = binary.LittleEndian.AppendUint32(b, p.round)
	b = appendRanks(b, p.members)
	b = binary.AppendUvarint(b, uint64(len(p.ballots)))
	for _, v := range p.ballots {
		b = appendRanks(b, v.voters)
		b = append(b, byte(v.purpose))
		b = binary.LittleEndian.AppendUint64(b, v.flags)
		b = appendRanks(b, v.acknowledged)
	}
	return b
}

// parsePoll is the inverse of append, in a world of size ranks. It returns an error if a voter or an
// acknowledged rank is not a member, or if a rank votes twice.
func parsePoll(b []byte, size int) (*poll, error) {
	r := reader{b: b, size: size}
	p := &poll{comm: r.word(8), round: uint32(r.word(4)), members: r.ranks()}
	n := r.varint()
	voted := make(map[int]bool)
	for i := uint64(0); i < n && !r.bad; i++ {
		v := ballot{voters: r.ranks(), purpose: Purpose(r.word(1)), flags: r.word(8), acknowledged: r.ranks()}
		for _, rank := range v.voters {
			r.bad = r.bad || voted[rank]
			voted[rank] = true
		}
		r.bad = r.bad || len(v.voters) == 0 || v.purpose < PurposeFlags || v.purpose > PurposeShrink ||
			!isPart(v.voters, p.members) || !isPart(v.acknowledged, p.members)
		p.ballots = append(p.ballots, v)
	}
	if r.bad || len(r.b) > 0 || len(p.ballots) == 0 {
		return nil, fmt.Errorf("bootstrap: votes of %d bytes: %w", len(b), ErrMalformed)
	}
	return p, nil
}

// isPart reports whether the list among contains all elements of the list ranks. Both lists are ascending.
func isPart(ranks, among []int) bool {
	for _, rank := range ranks {
		if _, found := slices.BinarySearch(among, rank); !found {
			return false
		}
	}
	return true
}

// append appends the decision to b.
func (d *Decision) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, d.Comm)
	b = binary.LittleEndian.AppendUint32(b, d.Round)
	b = append(b, byte(d.Purpose))
	b = binary.LittleEndian.AppendUint64(b, d.Flags)
	b = binary.LittleEndian.AppendUint32(b, d.Epoch)
	b = binary.LittleEndian.AppendUint32(b, d.Number)
	b = binary.LittleEndian.AppendUint32(b, uint32(int32(d.Lost)))
	return appendRanks(b, d.Dead)
}

// parseDecision is the inverse of append.
func parseDecision(b []byte, size int) (*Decision, error) {
	r := reader{b: b, size: size}
	d := &Decision{
		Comm: r.word(8), Round: uint32(r.word(4)), Purpose: Purpose(r.word(1)), Flags: r.word(8),
		Epoch: uint32(r.word(4)), Number: uint32(r.word(4)), Lost: int(int32(r.word(4))), Dead: r.ranks(),
	}
	if r.bad || len(r.b) > 0 || d.Purpose > PurposeShrink || d.Lost < -1 || d.Lost >= size {
		return nil, fmt.Errorf("bootstrap: decision of %d bytes: %w", len(b), ErrMalformed)
	}
	return d, nil
}

// append appends the revocation to b.
func (r *Revocation) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, r.Comm)
	b = binary.LittleEndian.AppendUint32(b, r.Number)
	b = binary.LittleEndian.AppendUint32(b, uint32(int32(r.Rank)))
	return append(b, r.Text[:min(len(r.Text), RevocationMax)]...)
}

// parseRevocation is the inverse of append.
func parseRevocation(b []byte, size int) (*Revocation, error) {
	r := reader{b: b, size: size}
	v := &Revocation{Comm: r.word(8), Number: uint32(r.word(4)), Rank: int(int32(r.word(4)))}
	if r.bad || v.Rank < 0 || v.Rank >= size || len(r.b) > RevocationMax {
		return nil, fmt.Errorf("bootstrap: revocation of %d bytes: %w", len(b), ErrMalformed)
	}
	v.Text = r.b
	return v, nil
}
