package iwarp

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/blocking"
)

// harvestEvery is a number of calls of Progress: of harvestEvery consecutive calls, at least one
// asks epoll for events. The other calls ask epoll only if no hot queue pair had work to do and
// epoll watches at least one queue pair. If epoll watches only listeners, it is asked less often,
// because a new connection can wait for a short time.
const harvestEvery = 32

// Progress implements provider.Device.
func (d *device) Progress() (int, error) {
	n, cold := 0, len(d.pairs)
	for _, p := range d.hot {
		if p == nil {
			break
		}
		if p.interest == 0 {
			cold--
		}
		if got := p.pump(); got > 0 {
			p.quiet = 0
			n += got
		} else if p.quiet++; p.quiet == quietMost {
			d.rest(p)
		}
	}
	d.rounds++
	if n == 0 && cold > 0 || d.rounds%harvestEvery == 0 {
		d.harvest()
	}
	if len(d.agenda.now) > 0 {
		n += d.runAgenda()
	}
	if d.timers.any() { // timers are armed only while connections begin or end, or descriptors are scarce
		n += d.timers.run(time.Now())
	}
	return n, nil
}

// Idle implements provider.Device.
func (d *device) Idle() bool {
	d.watchHot()
	d.harvest()
	at := d.timers.earliest()
	if len(d.agenda.now) > 0 || !at.IsZero() && !at.After(time.Now()) {
		return false
	}
	d.due.Store(0)
	if !at.IsZero() {
		d.due.Store(at.UnixNano())
	}
	d.napping.Store(true)
	return true
}

// Sleep implements provider.Device. Sleep passes the epoll descriptor itself to poll(2), so that
// the events stay in epoll until the next call of Progress takes them under the lock.
func (d *device) Sleep(until time.Time) {
	if due := d.due.Load(); due != 0 {
		if at := time.Unix(0, due); until.IsZero() || at.Before(until) {
			until = at
		}
	}
	var timeout *unix.Timespec
	if !until.IsZero() {
		ts := unix.NsecToTimespec(max(int64(time.Until(until)), 0))
		timeout = &ts
	}
	d.slept = [2]unix.PollFd{{Fd: int32(d.epoll), Events: unix.POLLIN}, {Fd: int32(d.wakeup), Events: unix.POLLIN}}
	_ = blocking.Poll(d.slept[:], timeout) // Sleep may return early, so an error does no harm
	if d.slept[1].Revents != 0 {
		var count [8]byte
		_, _ = unix.Read(d.wakeup, count[:]) // the count has no meaning: the eventfd only ends the sleep
	}
	d.napping.Store(false)
}

// Wake implements provider.Device.
func (d *device) Wake() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(d.wakeup, one[:]) // Write fails only if a wakeup is already pending
}

// setTimer arms a timer. It also ends a Sleep of the device, which might otherwise last until after the
// timer is due.
func (d *device) setTimer(t *timer, after time.Duration) {
	d.timers.set(t, time.Now().Add(after))
	d.stir()
}
