package engine

// Unreceived is a message that has arrived and that no receive has matched.
type Unreceived struct {
	Context uint32
	Status
}

// Unreceived polls once and returns the unexpected messages in the order of their arrival. It does not count
// as a call of the program (Calls), because reports about the rank use it.
func (e *Engine) Unreceived() []Unreceived {
	e.lock()
	defer e.unlock()
	e.pollUncounted()
	var all []*entry
	e.match.unexpected[shapeExact].each(func(en *entry) { all = append(all, en) })
	sortBySeq(all)
	list := make([]Unreceived, len(all))
	for i, en := range all {
		list[i] = Unreceived{en.context, en.msg.status()}
	}
	return list
}
