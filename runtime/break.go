package runtime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// broken marks a communicator as broken at this rank and ends its operations. For an Intercomm it
// does the same to the communicator of this rank's own group. If the communicator has failed
// before, broken changes nothing at this rank. If notice is not nil and the communicator was not broken before, the
// launcher notifies the other members, even if this rank ends now. Unless this rank has closed the communicator,
// broken also notifies them by messages, which may be faster.
func (w *World) broken(core *commCore, why *BrokenError, notice []byte) {
	core.breaking.Lock()
	defer core.breaking.Unlock()
	if !core.failure.CompareAndSwap(nil, &commFailure{why}) {
		if notice != nil && !core.broken.Load() { // this rank has closed it since Break called Err
			w.revoke(core, notice)
		}
		return
	}
	core.broken.Store(true)
	for i := range uint32(contextStride) {
		w.engine.Break(core.number*contextStride+i, why)
	}
	if core.own != nil {
		w.broken(core.own, why, nil)
	}
	w.wake()
	if notice == nil {
		return
	}
	w.revoke(core, notice)
	w.notifyBreak(core, notice)
}

// notifyBreak notifies the other members of a break by messages. core.breaking is held.
func (w *World) notifyBreak(core *commCore, notice []byte) {
	core.notified = true
	for _, world := range core.all() {
		if world != w.Rank() {
			w.engine.Notify(world, int(core.number), notice)
		}
	}
}

// breakNotice returns the notice of a break. It begins with noticeBreak. Two numbers in four bytes each follow: member,
// the world rank that broke the communicator, and origin, the world rank whose failure led to the break. The rest is
// the cause as appendCause encodes it.
func breakNotice(member, origin int, cause error) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{noticeBreak}, uint32(member))
	return appendCause(binary.LittleEndian.AppendUint32(b, uint32(origin)), cause)
}

// revoke makes the launcher notify the other members. The revocation names the communicator by its
// identity, so that it does not affect a later communicator with the same number.
func (w *World) revoke(core *commCore, notice []byte) {
	_ = w.council.Revoke(bootstrap.Revocation{ // an error means that the job or its generation ends
		Generation: w.job.Generation, Comm: core.identity, Number: core.number, Rank: w.Rank(),
		Text: notice[1:min(len(notice), bootstrap.RevocationMax)],
	})
}

// takeBreak handles the notice of a break that the member source has sent. The argument text is the notice without its
// first byte. The engine calls takeBreak with its lock held.
func (w *World) takeBreak(source, number int, text []byte) {
	if core, why := w.readBreak(source, number, 0, text); core != nil {
		core.announced.Store(&commFailure{why})
		go w.broken(core, why, nil)
	}
}

// readBreak parses the text of the notice of a break. The notice is about the communicator with
// this number and, if identity is not 0, with this identity. The result core is nil if the text is
// too short, or if source or the rank that broke the communicator is not a member. core is also nil if the
// communicator has failed already, or if this rank has no such communicator. If the communicator is just being made,
// readBreak keeps the notice until the communicator has been made.
func (w *World) readBreak(source, number int, identity uint64, text []byte) (core *commCore, why *BrokenError) {
	if len(text) < 8 {
		return nil, nil
	}
	why = &BrokenError{member: int(binary.LittleEndian.Uint32(text)), origin: int(binary.LittleEndian.Uint32(text[4:]))}
	if why.origin >= w.Size() {
		why.origin = why.member
	}
	why.Cause = w.parseCause(why.member, text[8:])
	core = w.comms.findBroken(uint32(number), identity, source, why)
	if core == nil || !core.has(source) || !core.has(why.member) || core.failure.Load() != nil {
		return nil, nil
	}
	core.blame(why)
	return core, why
}

// blame sets two fields of why. Comm becomes the name of the communicator. Rank becomes the rank of why.member in the
// communicator; in an Intercomm, it is the rank in the group of why.member.
func (core *commCore) blame(why *BrokenError) {
	why.Comm, why.Rank = core.name, why.member
	if i := slices.Index(core.allies, why.member); i >= 0 {
		why.Rank = i
	} else if core.index != nil {
		why.Rank = core.index[why.member]
	}
}

// appendCause appends the cause of a break to b, in the form in which it is sent to the other
// members.
//
//	varint   1 + world rank whose loss is the cause, 0 if the cause is not a loss
//	rest     text
func appendCause(b []byte, cause error) []byte {
	lost := uint64(0)
	if peer, ok := errors.AsType[*PeerError](cause); ok {
		lost = uint64(peer.Rank) + 1
	}
	return append(binary.AppendUvarint(b, lost), cause.Error()...)
}

// parseCause is the inverse of appendCause. A rank out of range is ignored.
func (w *World) parseCause(source int, b []byte) error {
	lost, n := binary.Uvarint(b)
	text := causeError(b[max(n, 0):])
	if lost == 0 || lost > uint64(w.Size()) {
		return text
	}
	return &distantError{text, PeerError{Rank: int(lost - 1), Op: fmt.Sprintf("operation of rank %d", source), Cause: text}}
}

// distantError is a loss that another rank has reported to this rank. It wraps a PeerError.
type distantError struct {
	causeError
	peer PeerError
}

// Unwrap returns the PeerError.
func (e *distantError) Unwrap() error { return &e.peer }
