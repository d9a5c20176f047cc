package iwarp

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// task is something that has a socket: a queue pair, a service point, a connection
// on its way in or out.
type task interface {
	// notice says what epoll says of the socket.
	notice(events uint32)
	// run does what can be done now and returns how much it did.
	run() int
	// listed returns where the agenda marks that the task is on it.
	listed() *bool
}

// entry is embedded by every task.
type entry struct{ onAgenda bool }

func (e *entry) listed() *bool { return &e.onAgenda }

// agenda holds the tasks that have something to do, and those that epoll watches.
type agenda struct {
	now, spare []task
	// watched are the tasks by descriptor.
	watched []task
}

// later puts a task on the agenda: it has something to do that no event announces.
func (d *device) later(t task) {
	if on := t.listed(); !*on {
		*on = true
		d.agenda.now = append(d.agenda.now, t)
	}
	d.stir()
}

// stir ends a sleep that began before what there is to do now.
func (d *device) stir() {
	if d.napping.Load() {
		d.napping.Store(false)
		d.Wake()
	}
}

// runAgenda runs what is on the agenda. What comes onto it meanwhile stays for the
// next time.
func (d *device) runAgenda() int {
	a := &d.agenda
	if len(a.now) == 0 {
		return 0
	}
	n := 0
	a.now, a.spare = a.spare[:0], a.now
	for i, t := range a.spare {
		*t.listed() = false
		n += t.run()
		a.spare[i] = nil
	}
	return n
}

// The events that tasks ask for.
const (
	eventsIn    = unix.EPOLLIN | unix.EPOLLRDHUP
	eventsInOut = eventsIn | unix.EPOLLOUT
)

// watch has epoll report each change of a socket to a task, beginning with how it is
// now. It may be called again, with other events.
func (d *device) watch(fd int, t task, events uint32) error {
	for len(d.agenda.watched) <= fd {
		d.agenda.watched = append(d.agenda.watched, nil)
	}
	operation := unix.EPOLL_CTL_ADD
	if d.agenda.watched[fd] != nil {
		operation = unix.EPOLL_CTL_MOD
	}
	e := unix.EpollEvent{Events: events | unix.EPOLLET&(1<<32-1), Fd: int32(fd)}
	if err := unix.EpollCtl(d.epoll, operation, fd, &e); err != nil {
		return fmt.Errorf("iwarp: epoll_ctl: %w", err)
	}
	d.agenda.watched[fd] = t
	return nil
}

// unwatch ends watch, if it has begun.
func (d *device) unwatch(fd int) {
	if fd >= 0 && fd < len(d.agenda.watched) && d.agenda.watched[fd] != nil {
		d.agenda.watched[fd] = nil
		_ = unix.EpollCtl(d.epoll, unix.EPOLL_CTL_DEL, fd, nil) // closing it would do as well
	}
}

// harvest puts the tasks of which epoll has something to say onto the agenda.
func (d *device) harvest() {
	for {
		n, errno := harvestEvents(d.epoll, d.events[:])
		if errno != 0 || n <= 0 {
			return
		}
		for i := range d.events[:n] {
			e := &d.events[i]
			if t := d.agenda.watched[e.Fd]; t != nil {
				t.notice(e.Events)
				if on := t.listed(); !*on {
					*on = true
					d.agenda.now = append(d.agenda.now, t)
				}
			}
		}
		if n < len(d.events) {
			return
		}
	}
}
