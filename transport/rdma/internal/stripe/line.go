package stripe

// Line is the state of the side connection of the end that has asked for it. Each connection
// has an id that no other one of the pair has.
type Line struct {
	state lineState
	id    uint64
}

type lineState uint8

const (
	lineNone  lineState = iota
	lineAsked           // a connection was asked for
	lineUp              // it carries parts
	lineLost            // the owner is asked to close its end
)

// Want reports whether a connection is to be asked for, and notes that it is.
func (l *Line) Want() bool {
	if l.state != lineNone {
		return false
	}
	l.state = lineAsked
	return true
}

// Idle reports whether there is no connection, and none is asked for.
func (l *Line) Idle() bool { return l.state == lineNone }

// Up reports whether the connection carries parts.
func (l *Line) Up() bool { return l.state == lineUp }

// Refused notes that the connection that was asked for did not come about.
func (l *Line) Refused() {
	if l.state == lineAsked {
		l.state = lineNone
	}
}

// Attach notes that the connection stands. It returns false if it is not wanted any more.
func (l *Line) Attach(id uint64) bool {
	if l.state != lineAsked {
		return false
	}
	l.state, l.id = lineUp, id
	return true
}

// Is reports whether a record of the owner is about the connection that carries parts.
func (l *Line) Is(id uint64) bool { return l.state == lineUp && l.id == id }

// Lost notes that the connection was lost, and returns its id: the owner is asked to close its
// end.
func (l *Line) Lost() (id uint64, ok bool) {
	if l.state != lineUp {
		return 0, false
	}
	l.state = lineLost
	return l.id, true
}

// Closed notes that the owner has closed its end of a connection. It reports whether what is
// held is to be released.
func (l *Line) Closed(id uint64) bool {
	if l.state != lineLost || l.id != id {
		return false
	}
	l.state = lineNone
	return true
}

// Drop notes that the main connection was lost, and with it everything here.
func (l *Line) Drop() { *l = Line{} }

// KeyState is what is known of the owner's key for the side connection.
type KeyState uint8

const (
	// KeyUnknown says that the owner has to be asked.
	KeyUnknown KeyState = iota
	// KeyAsked says that it was.
	KeyAsked
	// KeyKnown says that the key is that of the rail of the connection.
	KeyKnown
	// KeyNone says that there is none, and the transfer goes by the main connection alone.
	KeyNone
)
