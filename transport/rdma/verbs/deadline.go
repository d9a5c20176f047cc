package verbs

import "time"

// deadlines holds the endpoints whose connection attempt has a deadline. The list is short, and is
// searched only when the earliest deadline is removed or has passed.
type deadlines struct {
	endpoints []*Endpoint
	// earliest is the first deadline, or zero.
	earliest time.Time
}

func (d *deadlines) empty() bool { return len(d.endpoints) == 0 }

// add adds an endpoint whose attempt ends at the given time.
func (d *deadlines) add(ep *Endpoint, at time.Time) {
	ep.deadline, ep.deadlineIndex = at, len(d.endpoints)
	d.endpoints = append(d.endpoints, ep)
	if d.earliest.IsZero() || at.Before(d.earliest) {
		d.earliest = at
	}
}

// remove removes an endpoint. It does nothing if the endpoint was not added.
func (d *deadlines) remove(ep *Endpoint) {
	if ep.deadline.IsZero() {
		return
	}
	last := len(d.endpoints) - 1
	d.endpoints[ep.deadlineIndex] = d.endpoints[last]
	d.endpoints[ep.deadlineIndex].deadlineIndex = ep.deadlineIndex
	d.endpoints[last] = nil
	d.endpoints = d.endpoints[:last]
	was := ep.deadline
	ep.deadline = time.Time{}
	if was.Equal(d.earliest) {
		d.find()
	}
}

// find searches for the earliest deadline.
func (d *deadlines) find() {
	d.earliest = time.Time{}
	for _, ep := range d.endpoints {
		if d.earliest.IsZero() || ep.deadline.Before(d.earliest) {
			d.earliest = ep.deadline
		}
	}
}

// due removes and returns an endpoint whose deadline has passed at the given time. It returns nil
// if there is no such endpoint.
func (d *deadlines) due(now time.Time) *Endpoint {
	if d.earliest.IsZero() || d.earliest.After(now) {
		return nil
	}
	for _, ep := range d.endpoints {
		if !ep.deadline.After(now) {
			d.remove(ep)
			return ep
		}
	}
	return nil
}
