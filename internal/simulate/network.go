package simulate

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing/synctest"
	"time"
)

// errKilled is the cause of the end of a rank that dies because of Conditions.Deaths.
var errKilled = errors.New("killed by the simulator")

// patience is the virtual time for which all goroutines may be blocked without an event before the
// job counts as hanging. It is longer than every timeout of gorun itself.
const patience = time.Minute

// Network connects the ranks of a simulated job. One goroutine executes its events, one at a time. Before the
// next event, that goroutine lets all other goroutines run until they block. For this reason, ranks influence
// each other only through the order of the events.
type Network struct {
	conditions Conditions
	begun      time.Time
	// kick wakes the goroutine of run if an event was added that comes before all others, or if stop was called.
	kick chan struct{}

	// mu guards the fields below and the fields of nodes and pairs. It is not held during callbacks
	// of the engine. The lock of a sleeper may be acquired while mu is held.
	mu sync.Mutex
	// generations are the networks of the job's generations. Each has connections of its own.
	generations []*generation
	deaths      []Death // the deaths that have not happened yet
	agenda      agenda
	record      record
	faults      []string     // descriptions of wrong uses of the transport
	failed      bool         // the job is aborted
	left        map[int]bool // ranks whose programs have ended
	stopped     bool
}

// newNetwork returns the network of n ranks. It must be called within the bubble of the job.
func newNetwork(n int, seed int64, c Conditions, trace io.Writer) *Network {
	net := &Network{conditions: c, deaths: c.Deaths, left: map[int]bool{}, begun: time.Now(), kick: make(chan struct{}, 1), record: newRecord(trace)}
	net.generations = []*generation{newGeneration(net, 0, n, seed)}
	return net
}

// now returns the virtual time since the start of the job.
func (net *Network) now() time.Duration { return time.Since(net.begun) }

// newest returns the newest generation. mu is held.
func (net *Network) newest() *generation { return net.generations[len(net.generations)-1] }

// schedule adds an event of a pair. mu is held.
func (net *Network) schedule(p *pair, at time.Duration, fire func()) {
	p.turns++
	e := &event{at: at, pair: p, turn: p.turns, fire: fire}
	heap.Push(&net.agenda, e)
	if net.agenda[0] == e {
		select {
		case net.kick <- struct{}{}:
		default:
		}
	}
}

// fault records a wrong use of the transport. The caller holds the network's lock. fault does nothing in an
// aborted job, in a generation that is over, and after the programs of all ranks have ended. In these cases, a
// rank may take back memory that a peer still reads. After the ends of the programs, a message to an actor may
// still be in flight, because no rank waits for it.
func (g *generation) fault(format string, args ...any) {
	if net := g.net; !net.failed && g == net.newest() && len(net.left) < len(g.ranks) {
		net.faults = append(net.faults, fmt.Sprintf(format, args...))
	}
}

// fail records that the job is being aborted.
func (net *Network) fail() {
	net.mu.Lock()
	defer net.mu.Unlock()
	net.failed = true
}

// runs records that the program of a rank runs. If still is false, it records that the program has ended.
func (net *Network) runs(rank int, still bool) {
	net.mu.Lock()
	defer net.mu.Unlock()
	if delete(net.left, rank); !still {
		net.left[rank] = true
	}
}

// stop makes run return.
func (net *Network) stop() {
	net.mu.Lock()
	net.stopped = true
	net.mu.Unlock()
	select {
	case net.kick <- struct{}{}:
	default:
	}
}

// run executes the events until stop is called. It calls the function kill to end a rank that has to die. It
// calls the function stuck if all goroutines were blocked without an event for the time patience.
func (net *Network) run(kill func(rank int) bool, stuck func()) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for idle := net.now(); ; {
		synctest.Wait()
		next, pending, stopped := net.step(kill)
		switch {
		case stopped:
			return
		case pending && next <= 0:
			idle = net.now()
			continue
		case !pending && net.now()-idle >= patience:
			stuck()
			idle = net.now()
		}
		if !pending {
			next = patience
		}
		timer.Reset(next)
		select {
		case <-timer.C:
		case <-net.kick:
		}
	}
}

// step executes the next event if its time has come, and the deaths that are due. next is the time
// until the next event, or 0 if an event was executed. pending is false if there is no event.
func (net *Network) step(kill func(rank int) bool) (next time.Duration, pending, stopped bool) {
	net.mu.Lock()
	defer net.mu.Unlock()
	for len(net.deaths) > 0 && net.record.events >= net.deaths[0].Event {
		d := net.deaths[0]
		net.deaths = net.deaths[1:]
		if d.Rank < len(net.generations[0].ranks) {
			net.die(d, kill)
		}
	}
	if net.stopped || len(net.agenda) == 0 {
		return 0, false, net.stopped
	}
	if next = net.agenda[0].at - net.now(); next > 0 {
		return next, true, false
	}
	heap.Pop(&net.agenda).(*event).fire()
	return 0, true, false
}

// die ends a rank. The rank sends nothing more, and the other ranks are notified (vanish). The caller holds mu.
// die releases mu during the call of kill.
func (net *Network) die(d Death, kill func(rank int) bool) {
	var died []*node
	for _, g := range net.generations {
		if n := g.ranks[d.Rank]; !n.closed && !n.dead {
			n.dead, died = true, append(died, n)
		}
	}
	net.mu.Unlock()
	killed := kill(d.Rank)
	net.mu.Lock()
	if !killed {
		for _, n := range died {
			n.dead = false // the rank has left its program, and does not die
		}
		return
	}
	net.record.add(net.now(), "rank %d dies", d.Rank)
	for _, n := range died {
		for _, op := range n.operations {
			op.end(n.failure(op.name, op.peer, errKilled))
		}
		n.vanish(errKilled, d.Notice, d.Lossy)
	}
}
