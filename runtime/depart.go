package runtime

import (
	"encoding/binary"
	"errors"
	"slices"
)

// others returns the number of members of the communicator without this rank.
func (core *commCore) others() int { return core.size + len(core.allies) - 1 }

// depart records that another member has closed the communicator. comms.mu is held.
func (core *commCore) depart(world int) {
	if world == core.world.Rank() {
		return
	}
	if core.departed == nil {
		core.departed = make(map[int]bool)
	}
	core.departed[world] = true
}

// leaveComm ends the contexts of a communicator that this rank has closed, and notifies the other members, either now
// or after later closes (see comms.close). The argument before is the failure that the communicator had when it was
// closed, or nil. If the communicator was broken and this rank has not notified the other members of the break,
// leaveComm does so first. Otherwise a member that does not know of the break could send a message to this rank. That
// member would then report the refusal of the message and not the break.
func (w *World) leaveComm(core *commCore, before *commFailure) {
	core.breaking.Lock() // so that the notice of a break is sent before the notice of the end
	defer core.breaking.Unlock()
	if core.number == 0 {
		return // the World ends, and World.Close ends the engine with all its contexts
	}
	if before != nil && !core.notified {
		if why, ok := errors.AsType[*BrokenError](before.err); ok && !why.over {
			w.notifyBreak(core, breakNotice(why.member, why.origin, why.Cause))
		}
	}
	first := core.number * contextStride
	w.engine.CloseContexts(ErrCommClosed, first+contextUser, first+contextPrivate, first+contextControl, first+contextStream, first+contextPrivateStream)
	w.tell(w.comms.close(core))
}

// forget discards all that the engine has stored for closed communicators.
func (w *World) forget(numbers []uint32) {
	w.engine.Forget(func(context uint32) bool { return slices.Contains(numbers, context/contextStride) }, ErrCommClosed)
}

// tell notifies the other members that this rank has closed communicators. Each member gets one
// notice: the number of the notice is the number of the first communicator. In the text, the other numbers
// follow the byte noticeClosed, in four bytes each. In the lane to the member, the notice follows all
// messages of these communicators.
func (w *World) tell(cores []*commCore) {
	numbers := make(map[int][]uint32)
	var members []int
	for _, core := range cores {
		for _, world := range core.all() {
			if world == w.Rank() {
				continue
			}
			if numbers[world] == nil {
				members = append(members, world)
			}
			numbers[world] = append(numbers[world], core.number)
		}
	}
	for _, member := range members {
		text := []byte{noticeClosed}
		for _, number := range numbers[member][1:] {
			text = binary.LittleEndian.AppendUint32(text, number)
		}
		w.engine.Notify(member, int(numbers[member][0]), text)
	}
}

// takeClosed handles a notice of World.tell. The engine calls takeClosed with its lock held.
func (w *World) takeClosed(source, number int, text []byte) {
	w.comms.departed(uint32(number), source)
	for ; len(text) >= 4; text = text[4:] {
		w.comms.departed(binary.LittleEndian.Uint32(text), source)
	}
}
