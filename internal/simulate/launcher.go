package simulate

import "github.com/gorun-hpc/gorun/internal/localjob"

var _ localjob.Launcher = (*Network)(nil)

// launcher is the way to the launcher, nil if the conditions have none.
func (net *Network) launcher() localjob.Launcher {
	if !net.conditions.Launcher {
		return nil
	}
	return net
}

// Up implements localjob.Launcher. The way is a pair of the rank with itself.
func (net *Network) Up(rank int, arrive func()) { net.carry(rank, arrive) }

// Down implements localjob.Launcher. A rank that is dead receives nothing.
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

// carry calls arrive on a goroutine of its own at the time at which something arrives that a rank
// and the launcher say to each other, in order.
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
