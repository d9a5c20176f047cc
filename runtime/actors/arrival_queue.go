package actors

// arrivalQueue holds the messages and events (type arrival) that the engine has passed to this
// package, in order. Consecutive plain messages (see inbound.plain) of one stream form one arrival,
// which is called a run. deliverRun looks up the addressee of a run only once, unless the messages need
// further checks (see flowing). The messages of a run are stored as items, the form in which a mailbox
// holds them.
type arrivalQueue struct {
	list []arrival
	// items holds the messages of the runs in list, one run after the other.
	items []item
}

// add appends an arrival.
func (f *arrivalQueue) add(a *arrival) { f.list = append(f.list, *a) }

// addItem appends a message of a stream. If the last arrival is a run of that stream, the message
// extends the run; otherwise it begins a new run.
func (f *arrivalQueue) addItem(from int, i item) {
	f.items = append(f.items, i)
	if n := len(f.list); n > 0 {
		if last := &f.list[n-1]; last.kind == arrivalRun && last.in == i.in {
			last.number++
			return
		}
	}
	f.list = append(f.list, arrival{kind: arrivalRun, number: 1, source: int32(from), in: i.in})
}

// reset empties the queue but keeps its memory for reuse.
func (f *arrivalQueue) reset() {
	clear(f.list)
	clear(f.items)
	f.list, f.items = f.list[:0], f.items[:0]
}

// deliverAll delivers all arrivals in taken. woke is true if deliver returned true for any of them.
func (p *inbound) deliverAll() (woke bool) {
	items := p.taken.items
	for i := range p.taken.list {
		a := &p.taken.list[i]
		if a.kind != arrivalRun {
			woke = p.deliver(a) || woke
			continue
		}
		woke = p.deliverRun(a, items[:a.number]) || woke
		items = items[a.number:]
	}
	p.taken.reset()
	return woke
}

// runWhole is the smallest size, in messages, of a run that is copied directly to its mailbox. A
// shorter run is first collected in inbound.batch with other messages for the same mailbox, except if it
// is the only arrival. If inbound.batch already holds messages for the mailbox, a run of any size is added to them.
const runWhole = 16

// deliverRun delivers the messages of a run. It returns true if a goroutine may have become
// runnable without a push to the workers.
func (p *inbound) deliverRun(a *arrival, items []item) (woke bool) {
	to := a.in.flowing()
	if to == nil {
		for _, i := range items {
			woke = p.deliver(&arrival{kind: arrivalMessage, source: a.source, in: a.in, message: i.message, cost: i.cost}) || woke
		}
		return woke
	}
	if p.to != to {
		p.flush()
	}
	if p.to == nil && (len(items) >= runWhole || len(p.taken.list) == 1) {
		to.accept(items, p)
		return false
	}
	p.to = to
	p.batch = append(p.batch, items...)
	return false
}
