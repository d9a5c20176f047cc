package iwarp

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// task is the owner of a socket: a queue pair, a service point, a connection that has not sent its
// MPA request (halfOpen), or a goodbye.
type task interface {
	// notice informs the task of the events that epoll has reported for the socket.
	notice(events uint32)
	// run does the work that is possible now and returns the amount of work that it did.
	run() int
	// listed returns the variable in which the agenda records that it contains the task.
	listed() *bool
}

// entry implements listed. Every task embeds it.
type entry struct{ onAgenda bool }

func (e *entry) listed() *bool { return &e.onAgenda }

// agenda contains the tasks that have work to do, and the tasks whose sockets epoll watches.
type agenda struct {
	// now contains the tasks that have work to do. spare is the memory of the previous list, which
	// the next list reuses.
	now, spare []task
	// watched contains the watched tasks, by the descriptor of the socket.
	watched []task
}

// later puts a task on the agenda, because the task has work to do that no event will announce.
func (d *device) later(t task) {
	if on := t.listed(); !*on {
		*on = true
		d.agenda.now = append(d.agenda.now, t)
	}
	d.stir()
}

// stir ends a Sleep of the device. The caller has added work that the sleeping goroutine has to
// do.
func (d *device) stir() {
	if d.napping.Load() {
		d.napping.Store(false)
		d.Wake()
	}
}

// runAgenda runs the tasks on the agenda. A task that is put on the agenda during the call waits
// for the next call.
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

// The events for which tasks watch their sockets.
const (
	eventsIn    = unix.EPOLLIN | unix.EPOLLRDHUP
	eventsInOut = eventsIn | unix.EPOLLOUT
)

// watch makes epoll report the changes of a socket to a task (edge-triggered). The first report is
// the present state of the socket. A later call may change the events.
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

// unwatch ends the watch of a descriptor. It does nothing for a descriptor that is not watched.
func (d *device) unwatch(fd int) {
	if fd >= 0 && fd < len(d.agenda.watched) && d.agenda.watched[fd] != nil {
		d.agenda.watched[fd] = nil
		_ = unix.EpollCtl(d.epoll, unix.EPOLL_CTL_DEL, fd, nil) // the kernel also ends the watch when fd is closed
	}
}

// harvest asks epoll for events, and puts the tasks of the reported sockets on the agenda.
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
