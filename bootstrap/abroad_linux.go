//go:build !portable

package bootstrap

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap/internal/pmi"
)

// abroad is the state of a rank that a launcher other than gorun has started. Such a rank has no agent of
// gorun. The rank itself therefore prints its messages, and ends its process by signals to itself.
type abroad struct {
	launcher *pmi.Client   // nil if the launcher offers no PMI connection
	stream   *os.File      // the connection of launcher
	parent   *os.File      // pidfd of the parent process, nil if the parent is not watched
	watched  chan struct{} // closed when the goroutine that reads stream ends; nil if there is none
	ready    chan struct{} // closed when host is set or it is certain that host stays nil; nil if this is not rank 0
	host     *host         // in rank 0, serves all ranks; nil if the ranks have not met
	aborting atomic.Bool   // this process has called Abort, and is about to exit with its own exit code
}

// endGrace is the time between the SIGTERM and the SIGKILL that a rank sends itself. It corresponds to
// the flag -grace of gorun.
const endGrace = 5 * time.Second

// launcherTimeout bounds the time in which a process leaves the launcher's job, including the launcher's
// answer, and the time in which it sends an abort, which the launcher does not answer.
const launcherTimeout = 30 * time.Second

// met is called when the ranks have met. Between this call and a call of finalize or abort, this process
// sends no request to the launcher. During that time, the process watches the launcher, and ends when the
// launcher ends.
func (a *abroad) met() error {
	if a.stream == nil {
		go a.watchParent()
		return nil
	}
	if err := a.stream.SetDeadline(time.Time{}); err != nil {
		return err
	}
	a.watched = make(chan struct{})
	go func() {
		defer close(a.watched)
		if err := a.launcher.Wait(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			a.end()
		}
	}()
	return nil
}

// openParent opens a pidfd of the parent process. watchParent polls the pidfd. openParent is called if the
// launcher offers no PMI connection. In this case, the parent is the launcher, or a wrapper that the
// launcher has started. If the kernel has no pidfds, or if the parent is in another PID namespace, this
// process does not notice the end of the launcher.
func (a *abroad) openParent() {
	pid := os.Getppid()
	if pid <= 0 {
		return
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), "parent")
	if os.Getppid() != pid { // the parent has ended, and its PID may have been reused
		_ = f.Close()
		return
	}
	a.parent = f
}

// watchParent ends this process if its parent ends before finalize has closed the pidfd.
func (a *abroad) watchParent() {
	if a.parent == nil {
		return
	}
	raw, err := a.parent.SyscallConn()
	if err != nil {
		return
	}
	err = raw.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 && err == nil
	})
	if err == nil {
		fmt.Fprintln(os.Stderr, "gorun: the launcher of this rank is gone")
		a.end()
	}
}

// finalize implements selfReliant. Rank 0 waits until all other ranks have left or are lost, because rank 0
// serves them.
func (a *abroad) finalize() error {
	if a.ready != nil {
		<-a.ready
		if a.host != nil {
			a.host.left.Wait()
		}
	}
	if a.parent != nil {
		_ = a.parent.Close() // from here on, the end of the launcher does not end this process
	}
	if a.launcher == nil {
		return nil
	}
	if a.watched != nil {
		if err := a.stream.SetReadDeadline(time.Now()); err != nil {
			return err
		}
		<-a.watched
	}
	return errors.Join(a.stream.SetDeadline(time.Now().Add(launcherTimeout)), a.launcher.Finalize())
}

// abort implements selfReliant.
func (a *abroad) abort(rank, code int, reason string) {
	a.aborting.Store(true)
	fmt.Fprintf(os.Stderr, "gorun: rank %d aborts the job with code %d: %s\n", rank, code, reason)
	if a.launcher != nil {
		_ = a.stream.SetWriteDeadline(time.Now().Add(launcherTimeout))
		_ = a.launcher.Abort(code) // the process is about to end
	}
}

// end implements selfReliant. It sends this process the signals that an agent of gorun would send. After a
// call of abort, end does nothing.
func (a *abroad) end() {
	if a.aborting.Load() {
		return
	}
	self := os.Getpid()
	// If the program does not handle SIGTERM, a signal to this thread takes effect before end returns. A
	// signal to the process might take effect later. In the meantime, the next frame might let the program
	// continue.
	goruntime.LockOSThread()
	_ = unix.Tgkill(self, unix.Gettid(), unix.SIGTERM)
	goruntime.UnlockOSThread()
	time.AfterFunc(endGrace, func() { _ = unix.Kill(self, unix.SIGKILL) })
}
