package runtime

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// broken ends a communicator at this rank and reports whether it was whole.
func (w *World) broken(core *commCore, why *BrokenError) bool {
	if !core.failure.CompareAndSwap(nil, &commFailure{why}) {
		return false
	}
	core.broken.Store(true)
	for i := range uint32(contextStride) {
		w.engine.Break(core.number*contextStride+i, why)
	}
	w.wake()
	return true
}

// takeBreak takes the notice of another member that it broke a communicator: four bytes
// of the world rank whose failure it is, then the cause. The engine calls it with its lock
// held.
func (w *World) takeBreak(source, number int, text []byte) {
	if len(text) < 4 {
		return
	}
	why := &BrokenError{Cause: w.parseCause(source, text[4:]), origin: source}
	if o := binary.LittleEndian.Uint32(text); o < uint32(w.Size()) {
		why.origin = int(o)
	}
	core := w.comms.findBroken(uint32(number), source, why)
	if core == nil || !core.has(source) || core.failure.Load() != nil {
		return
	}
	core.blame(why, source)
	go w.broken(core, why)
}

// blame fills in which communicator was broken by which world rank.
func (core *commCore) blame(why *BrokenError, world int) {
	why.Comm, why.Rank = core.name, world
	if core.index != nil {
		why.Rank = core.index[world]
	}
}

// appendCause appends the cause of a break for others.
//
//	varint   1 + world rank that was lost, 0 if that is not the cause
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

// distantError is the loss of a rank as another rank reported it. It is a PeerError.
type distantError struct {
	causeError
	peer PeerError
}

// Unwrap returns the PeerError.
func (e *distantError) Unwrap() error { return &e.peer }
