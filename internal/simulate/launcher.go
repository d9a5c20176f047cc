package simulate

import "github.com/gorun-hpc/gorun/internal/localjob"

var _ localjob.Launcher = (*Network)(nil)

// launcher returns the localjob.Launcher of the job, or nil if Conditions.Launcher is false.
func (net *Network) launcher() localjob.Launcher {
	if !net.conditions.Launcher {
		return nil
	}
	return net
}

// Up implements localjob.Launcher. The messages of both directions use the lane (type pair) from the rank to
// itself.
func (net *Network) Up(rank int, arrive func()) { net.carry(rank, arrive) }

// Down implements localjob.Launcher. A dead rank receives nothing.
func (net *Network) Down(rank int, arrive func()) {
	net.carry(rank, func() {
		net.mu.Lock()
		dead := net.newest().ranks[rank].dead
		net.mu.Unlock()
		if !dead {
			arrive()
		}
	})
}

// carry schedules the arrival of a message between a rank and the launcher, after the messages before it.
// When the message arrives, carry calls the function arrive on a goroutine of its own.
func (net *Network) carry(rank int, arrive func()) {
	net.mu.Lock()
	defer net.mu.Unlock()
	p := net.generations[0].pair(rank, rank)
	p.last = max(p.last+1, net.now()+p.delay())
	net.schedule(p, p.last, func() {
		net.record.add(net.now(), "rank %d and the launcher", rank)
		go arrive()
	})
}
