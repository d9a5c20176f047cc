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

// abroad is a rank that another launcher has started: there is no agent to print, to send
// signals and to end processes.
type abroad struct {
	launcher *pmi.Client   // nil if the launcher gives no connection
	stream   *os.File      // of launcher
	parent   *os.File      // pidfd of the process that has started this one, nil if it is not watched
	watched  chan struct{} // closed when nobody reads the stream any more; nil before the ranks have met
	ready    chan struct{} // closed when host is set or never will be; nil in other ranks than 0
	host     *host         // that serves all ranks, in rank 0
	aborting atomic.Bool   // this process is about to exit with a code of its own
}

// endGrace is the time between the SIGTERM and the SIGKILL that a rank sends itself, as
// gorun's -grace.
const endGrace = 5 * time.Second

// launcherTimeout is how long a launcher may take to answer a process that leaves.
const launcherTimeout = 30 * time.Second

// met is called when the ranks have met: the launcher is not asked again before the end. If
// it ends before, so does this process, as the launcher's own processes do.
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

// openParent makes it possible to watch the process that has started this one: a launcher that
// gives no connection, or a wrapper that it has started. Where the kernel has no pidfd, or the
// launcher is in another PID namespace, the end of the launcher is not heeded.
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
	if os.Getppid() != pid { // it has gone, and the number may be another one's
		_ = f.Close()
		return
	}
	a.parent = f
}

// watchParent ends this process when its parent ends before the rank has left.
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

// finalize implements selfReliant. Rank 0 waits for the others, which it serves.
func (a *abroad) finalize() error {
	if a.ready != nil {
		<-a.ready
		if a.host != nil {
			a.host.left.Wait()
		}
	}
	if a.parent != nil {
		_ = a.parent.Close() // nobody needs the launcher any more
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

// end implements selfReliant with the signals that an agent of gorun would send.
func (a *abroad) end() {
	if a.aborting.Load() {
		return
	}
	self := os.Getpid()
	// To this thread, so that the process ends here unless the program has asked for SIGTERM:
	// the next frame may let it go on.
	goruntime.LockOSThread()
	_ = unix.Tgkill(self, unix.Gettid(), unix.SIGTERM)
	goruntime.UnlockOSThread()
	time.AfterFunc(endGrace, func() { _ = unix.Kill(self, unix.SIGKILL) })
}
