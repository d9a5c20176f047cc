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

// finalize implements selfReliant. Rank 0 waits for the others, which it serves.
func (a *abroad) finalize() error {
	if a.ready != nil {
		<-a.ready
		if a.host != nil {
			a.host.left.Wait()
		}
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
