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

// errKilled is the cause of what ends with a rank that the conditions let die.
var errKilled = errors.New("killed by the simulator")

// patience is how long in virtual time all goroutines may be blocked without an event
// before the job hangs: longer than every limit of gorun itself.
const patience = time.Minute

// Network connects the ranks of a simulated job. One goroutine carries out its events,
// one at a time, and lets all others run until they block before the next: so ranks
// influence each other in the order of the events alone.
type Network struct {
	conditions Conditions
	begun      time.Time
	// kick tells the goroutine of events that there is an earlier one.
	kick chan struct{}

	// mu guards the fields below and those of ranks and pairs. It is not held during
	// callbacks. A sleeper's lock may be taken under it.
	mu sync.Mutex
	// generations are those of the job, each with its own connections.
	generations []*generation
	deaths      []Death // to come
	agenda      agenda
	record      record
	faults      []string     // misuse of the transport
	failed      bool         // the job is aborted
	left        map[int]bool // ranks whose programs have ended
	stopped     bool
}

// newNetwork returns the network of n ranks, to be made within the bubble of its job.
func newNetwork(n int, seed int64, c Conditions, trace io.Writer) *Network {
	net := &Network{conditions: c, deaths: c.Deaths, left: map[int]bool{}, begun: time.Now(), kick: make(chan struct{}, 1), record: newRecord(trace)}
	net.generations = []*generation{newGeneration(net, 0, n, seed)}
	return net
}

// now is the time since the beginning.
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

// fault notes a misuse of the transport. The network's lock is held. In an aborted job, and in a generation
// that is over, every rank takes its memory back at once, also what a peer reads. So it does when all programs
// have ended: a message to an actor that nobody waits for may be under way then.
func (g *generation) fault(format string, args ...any) {
	if net := g.net; !net.failed && g == net.newest() && len(net.left) < len(g.ranks) {
		net.faults = append(net.faults, fmt.Sprintf(format, args...))
	}
}

// fail says that the job is to be aborted.
func (net *Network) fail() {
	net.mu.Lock()
	defer net.mu.Unlock()
	net.failed = true
}

// runs says that the program of a rank runs, or has ended.
func (net *Network) runs(rank int, still bool) {
	net.mu.Lock()
	defer net.mu.Unlock()
	if delete(net.left, rank); !still {
		net.left[rank] = true
	}
}

// stop ends run.
func (net *Network) stop() {
	net.mu.Lock()
	net.stopped = true
	net.mu.Unlock()
	select {
	case net.kick <- struct{}{}:
	default:
	}
}

// run carries out the events until stop. It calls kill when a rank is to die and stuck
// when all goroutines are blocked and there is no event.
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

// step carries out the next event if its time has come. next is how long it takes until
// the next one, or 0 after an event; pending is false when there is none.
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

// die ends a rank: nothing leaves it any more, and the others are notified in time. mu is
// held, but given up for kill.
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
			n.dead = false // it has left its program
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
