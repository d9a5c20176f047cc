package stripe

// Line is the state of the side connection at the end that requests it. The id of a side connection
// is unique among all side connections of the pair of ranks. The owner is the rank at the other
// end, which owns the memory that the transfers access.
type Line struct {
	state lineState
	id    uint64
}

type lineState uint8

const (
	lineNone  lineState = iota
	lineAsked           // a side connection was requested
	lineUp              // the connection carries parts
	lineLost            // the connection was lost, and the owner was told to close its end
)

// Want reports whether the caller is to request a connection. If Want returns true, it has recorded
// the request.
func (l *Line) Want() bool {
	if l.state != lineNone {
		return false
	}
	l.state = lineAsked
	return true
}

// Idle reports whether there is no connection, no request for one, and no lost connection whose end the
// owner still has to close.
func (l *Line) Idle() bool { return l.state == lineNone }

// Refused records that the requested connection was not established.
func (l *Line) Refused() {
	if l.state == lineAsked {
		l.state = lineNone
	}
}

// Attach records that the requested connection was established. It returns false if the request has
// been dropped in the meantime.
func (l *Line) Attach(id uint64) bool {
	if l.state != lineAsked {
		return false
	}
	l.state, l.id = lineUp, id
	return true
}

// Is reports whether id is the id of the connection that carries parts. The caller has got the id
// in a record (a control message on the main connection) of the owner.
func (l *Line) Is(id uint64) bool { return l.state == lineUp && l.id == id }

// Lost records that the connection was lost, and returns its id, with which the caller tells the
// owner to close its end. ok is false if no connection carried parts.
func (l *Line) Lost() (id uint64, ok bool) {
	if l.state != lineUp {
		return 0, false
	}
	l.state = lineLost
	return l.id, true
}

// Closed records that the owner has closed its end of a connection. It reports whether the caller
// now has to call Release for its transfers.
func (l *Line) Closed(id uint64) bool {
	if l.state != lineLost || l.id != id {
		return false
	}
	l.state = lineNone
	return true
}

// Drop records that the main connection was lost. The side connection ends with it.
func (l *Line) Drop() { *l = Line{} }

// KeyState describes whether this rank knows the key of the owner's memory on the adapter of the
// side connection.
type KeyState uint8

const (
	// KeyUnknown means that the owner has to be asked for the key.
	KeyUnknown KeyState = iota
	// KeyAsked means that the owner was asked, and has not answered yet.
	KeyAsked
	// KeyKnown means that the key is known, and valid on the rail of the side connection.
	KeyKnown
	// KeyNone means that this rank's memory or the owner's memory has no key on the adapter of the side
	// connection. The transfer uses only the main connection.
	KeyNone
)
