package credit

// Take gives a new frame a slot: its sequence number modulo the number of slots.
// It returns false when every slot is occupied. The slot is the frame's until
// freed counts it.
func (f *Flow) Take() (sequence uint16, ok bool) { return f.out.take() }
