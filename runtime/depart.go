package runtime

import (
	"encoding/binary"
	"slices"
)

// others is how many other members the communicator has.
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

// leaveComm ends what is left of a communicator that this rank has closed, and says so to the
// other members.
func (w *World) leaveComm(core *commCore) {
	core.breaking.Lock() // a break that has begun is told before the end
	defer core.breaking.Unlock()
	if core.number == 0 {
		return // the engine ends
	}
	first := core.number * contextStride
	w.engine.CloseContexts(ErrCommClosed, first+contextUser, first+contextPrivate, first+contextControl, first+contextStream, first+contextPrivateStream)
	w.tell(w.comms.close(core))
}

// forget drops what the engine has of communicators, which are closed.
func (w *World) forget(numbers []uint32) {
	w.engine.Forget(func(context uint32) bool { return slices.Contains(numbers, context/contextStride) }, ErrCommClosed)
}

// tell tells the other members that this rank has closed communicators. The notice of a
// number has the further ones as its text, four bytes each. It follows in the lane of the
// member all messages of these communicators.
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

// takeClosed takes such a notice. The engine calls it with its lock held.
func (w *World) takeClosed(source, number int, text []byte) {
	w.comms.departed(uint32(number), source)
	for ; len(text) >= 4; text = text[4:] {
		w.comms.departed(binary.LittleEndian.Uint32(text), source)
	}
}
