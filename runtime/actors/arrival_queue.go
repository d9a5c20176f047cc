package actors

// arrivalQueue holds the arrivals from the engine, in order. Consecutive plain messages of one
// stream are one arrival, a run. Its addressee is looked up once, and its messages are stored
// as items of a mailbox.
type arrivalQueue struct {
	list []arrival
	// items are the messages of the runs in list, one run after the other.
	items []item
}

// add appends an arrival.
func (f *arrivalQueue) add(a *arrival) { f.list = append(f.list, *a) }

// addItem appends a message of a stream. If the last arrival is a run of that stream, it
// appends to the run.
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

// reset empties the queue and keeps its memory.
func (f *arrivalQueue) reset() {
	clear(f.list)
	clear(f.items)
	f.list, f.items = f.list[:0], f.items[:0]
}

// deliverAll delivers what was taken. Its result is that of deliver.
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

// runWhole is the smallest length of a run that is copied to its mailbox by itself, not
// collected with other messages.
const runWhole = 16

// deliverRun is deliver for a run.
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
