package runtime

import (
	"encoding/binary"
	"errors"
)

// Break marks the communicator as broken: operations on it, on its views and on
// its Private twin, those under way included, end with an error that is
// ErrCommBroken and cause, at this rank at once and at the other members as soon
// as they hear of it. Collective operations call it when they are given up
// halfway, for members that go on would wait for ever or mix up messages. Only
// the first Break of a communicator counts. Elsewhere the cause is its text, cut
// after 251 bytes.
func (c *Comm) Break(cause error) {
	if c == nil || c.Err() != nil {
		return
	}
	w := c.core.world
	origin := w.Rank()
	if b := originator(nil); errors.As(cause, &b) {
		origin = b.FailureOrigin()
	}
	if !w.broken(c.core, &BrokenError{Comm: c.core.name, Rank: c.rank, Cause: cause, origin: origin}) {
		return
	}
	text := append(binary.LittleEndian.AppendUint32([]byte{noticeBreak}, uint32(origin)), cause.Error()...)
	for rank := range c.size {
		if rank != c.rank {
			w.engine.Notify(c.WorldRank(rank), int(c.core.number), text)
		}
	}
}

// Broken reports whether a member broke the communicator, also when it was freed since.
func (c *Comm) Broken() bool { return c.core.broken.Load() }

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

// heardBreak takes the notice of another member that it broke a communicator: four bytes
// of the world rank whose failure it is, then the cause. The engine calls it with its lock
// held.
func (w *World) heardBreak(source, number int, text []byte) {
	if len(text) < 4 {
		return
	}
	why := &BrokenError{Cause: errors.New(string(text[4:])), origin: source}
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
