package kernel

import (
	"net/netip"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// quietMost is how long the passive side of iWARP holds its requests back when the active
// side says nothing: siw, as the active side, ends a connection if something arrives together
// with the answer (siw_recv_mpa_rr), and nothing tells when it has taken that.
const quietMost = 50 * time.Millisecond

// outcome is what a queue pair hears of its connection.
type outcome queuePair

var _ provider.Upcalls = (*outcome)(nil)

// Established implements provider.Upcalls.
func (o *outcome) Established(answer *provider.Proposal, local, remote netip.AddrPort) error {
	p := (*queuePair)(o)
	p.receiving = true
	if answer == nil && p.device.attributes.ActiveSpeaksFirst {
		p.isQuiet, p.quietUntil = true, time.Now().Add(quietMost)
		p.device.quiet = append(p.device.quiet, p)
	}
	if err := p.config.Upcalls.Established(answer, local, remote); err != nil {
		return err
	}
	p.established = true
	if p.ending { // before there was a connection to break
		p.device.broken = append(p.device.broken, p)
	}
	early := p.early
	p.early = nil
	p.device.report(early)
	return nil
}

// Failed implements provider.Upcalls.
func (o *outcome) Failed(why provider.Failure, privateData []byte, err error) {
	o.failed = true
	o.config.Upcalls.Failed(why, privateData, err)
}

// Disconnected implements provider.Upcalls.
func (o *outcome) Disconnected() {
	o.failed = true
	o.config.Upcalls.Disconnected()
}

// Broken implements provider.Upcalls.
func (o *outcome) Broken(err error) {
	o.failed = true
	o.config.Upcalls.Broken(err)
}

// speak lets requests go that wait for the active side to speak.
func (p *queuePair) speak() {
	p.isQuiet = false
	p.RequestsPosted()
}

// speak does that for those whose patience has ended, and forgets the others.
func (d *device) speak(now time.Time) {
	left := d.quiet[:0]
	for _, p := range d.quiet {
		switch {
		case !p.isQuiet || p.failed:
		case now.Before(p.quietUntil):
			left = append(left, p)
		default:
			p.speak()
		}
	}
	clear(d.quiet[len(left):])
	d.quiet = left
}
