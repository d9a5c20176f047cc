package engine

import "time"

const (
	// earlyMax bounds the bytes of parcels that wait for the Courier of this rank,
	// all peers together.
	earlyMax = 4 << 20
	// defaultEarly is Config.Early when it is 0.
	defaultEarly = 30 * time.Second
)

// earlyParcel waits for the Courier: a parcel, or the end of a link.
type earlyParcel struct {
	source int
	closed uint32 // the number of the link that has ended, or 0
	parcel Parcel
	body   []byte
	memory *Message
}

// early is what has come for the Courier of this rank before there is one.
type early struct {
	parcels []earlyParcel
	bytes   int
	// patience ends the wait for the courier, hopeless says that it has.
	patience *time.Timer
	hopeless bool
}

// keep keeps a parcel that takes so many bytes.
func (y *early) keep(p earlyParcel, cost int) {
	y.parcels, y.bytes = append(y.parcels, p), y.bytes+cost
}

// take returns what was kept, and keeps it no more.
func (y *early) take() []earlyParcel {
	all := y.parcels
	y.parcels, y.bytes = nil, 0
	return all
}

// stop ends the wait for the courier. A timer that fires nevertheless finds that
// there is one, or that the engine has ended.
func (y *early) stop() {
	if y.patience != nil {
		y.patience.Stop()
	}
}

// takeParcel gives a parcel to the courier, or keeps it until there is one, but not
// for ever.
func (e *Engine) takeParcel(p *peer, w Parcel, body []byte, memory *Message) {
	if c := e.mail.courier; c != nil {
		c.Parcel(p.rank, w, body, memory)
		return
	}
	cost := len(body) + messageOverhead
	y := &e.mail.early
	if y.hopeless || y.bytes+cost > earlyMax {
		e.refuse(p, w.Link, memory)
		return
	}
	if y.patience == nil {
		y.patience = time.AfterFunc(e.cfg.Early, e.despair)
	}
	y.keep(earlyParcel{source: p.rank, parcel: w, body: append([]byte(nil), body...), memory: memory}, cost)
}

// refuse drops a parcel and tells its sender so, whom that of no link concerns not.
func (e *Engine) refuse(p *peer, link uint32, memory *Message) {
	if memory != nil {
		e.giveBack(p, memory.key)
	}
	if link != 0 {
		e.post(p, header{kind: kindRefuse, context: link}, nil)
	}
}

// despair refuses what has waited for the courier, and what comes from now on until
// there is one after all.
func (e *Engine) despair() {
	e.lock()
	defer e.unlock()
	if e.mail.courier != nil || e.err != nil {
		return
	}
	e.mail.early.hopeless = true
	for _, p := range e.mail.early.take() {
		switch from := e.peers[p.source]; {
		case from.down != nil:
		case p.closed != 0:
			e.post(from, header{kind: kindClosed, context: p.closed}, nil)
		default:
			e.refuse(from, p.parcel.Link, p.memory)
		}
	}
}

// arriveRefuse tells the courier that the peer has none.
func (e *Engine) arriveRefuse(p *peer, number uint32) error {
	l := p.link(number)
	if l == nil {
		return stray("refusal", number)
	}
	e.mail.courier.Refused(l)
	e.callServer()
	return nil
}
