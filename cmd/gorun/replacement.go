package main

import (
	"errors"
	"slices"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// visited handles a connection that a pod makes while ranks run, and later the result of prepare for that pod. The
// platform has started this pod again. Therefore the pod has room for ranks.
func (j *job) visited(v visit) {
	old := j.hosts[v.number]
	at := slices.Index(j.kept, old)
	switch {
	case v.number == 0 || at < 0 || j.watch.ending || v.host != nil && v.replaces != old:
		v.end()
	case v.host == nil:
		v.replaces = old
		v.host = &host{job: j, name: old.name, here: old.here, slots: old.slots}
		go func(all *visits) { all.deliver(v.prepare(at)) }(j.visits)
	default:
		if v.err == nil {
			v.err = j.compare([]*host{v.host})
		}
		if v.err != nil {
			complain("%v", v.err)
			v.end()
			return
		}
		j.replace(v, at)
	}
}

// prepare greets the agent of a pod that was started again, sends it a plan without ranks, and ends
// the connection to the pod's former agent.
func (v visit) prepare(at int) visit {
	h := v.host
	if v = v.greet(); v.err != nil {
		return v
	}
	// The node's ID is made unique, as in neighbours, because two pods may be on one machine.
	h.node[0] ^= byte(v.number)
	h.node[1] ^= byte(v.number >> 8)
	if v.err = h.order(h.job.orders, at, 1); v.err != nil {
		return v
	}
	v.replaces.giveUp(errors.New("its pod was started again"))
	<-v.replaces.readDone
	return v
}

// replace replaces the host with the number v.number by v.host, the pod that was started again.
func (j *job) replace(v visit, at int) {
	h := v.host
	h.readDone, h.way = make(chan struct{}), bootstrap.NewLink(down{h.conn})
	j.hosts[v.number], j.kept[at] = h, h
	go h.listen()
	for len(j.lost) > 0 {
		j.lostHost(<-j.lost) // the loss of the agent that ran in the pod before
	}
	who := h.name + " has connected again"
	if len(j.homeless.ranks) == 0 {
		complain("%s", who)
	}
	j.roomCame(who)
	j.restock()
}
