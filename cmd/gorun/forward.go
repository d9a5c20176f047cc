package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// forwarder sends the output of an agent's ranks to the launcher. It reads from each pipe only as much as the
// window of the stream allows. For this reason, a slow reader of the launcher's output slows down the ranks.
type forwarder struct {
	conn *link.Conn

	mu      sync.Mutex // guards the fields below, except copying
	streams map[link.Target]*forwarded
	copying sync.WaitGroup // the goroutines that copy streams
	running bool           // run was called
	// lasting is true if a rank may be started again. The streams of the rank then continue with the pipes of
	// its new process.
	lasting bool
}

func newForwarder() *forwarder { return &forwarder{streams: map[link.Target]*forwarded{}} }

// forwarded is an output stream of a rank. It has one pipe for each process that is started for the rank, and
// copies the pipes one after the other.
type forwarded struct {
	target link.Target
	room   *window

	mu    sync.Mutex // guards the fields below
	more  *sync.Cond
	pipes []*os.File // the pipes that are not at their ends yet; the first is being read
	last  bool       // no pipes of later processes will be added
}

// linkStream returns the number by which package link identifies an output stream.
func linkStream(which stream) link.Stream {
	if which == streamErr {
		return link.Stderr
	}
	return link.Stdout
}

// add takes ownership of fd, the nonblocking reading end of a pipe of a rank.
func (f *forwarder) add(r *rank, which stream, fd int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	target := link.Target{Rank: r.number, Stream: linkStream(which)}
	s := f.streams[target]
	if s == nil {
		s = &forwarded{target: target, room: newWindow(), last: !f.lasting}
		s.more = sync.NewCond(&s.mu)
		f.streams[target] = s
		if f.running {
			f.begin(s)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pipes = append(s.pipes, os.NewFile(uintptr(fd), "output"))
	s.more.Signal()
	return nil
}

// run starts the copying. It is called after the pipes of all first processes have been added.
func (f *forwarder) run() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = true
	for _, s := range f.streams {
		f.begin(s)
	}
}

// begin starts the copying of a stream. Callers hold mu.
func (f *forwarder) begin(s *forwarded) {
	f.copying.Go(func() {
		for pipe := s.pipe(); pipe != nil; pipe = s.pipe() {
			f.copy(s, pipe)
			s.next()
			_ = pipe.Close()
		}
		f.conn.Send(link.KindOutputEnd, s.target.Append(nil))
	})
}

// pipe waits for the next pipe to read and returns it. It returns nil if there will be none.
func (s *forwarded) pipe() *os.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.pipes) == 0 && !s.last {
		s.more.Wait()
	}
	if len(s.pipes) == 0 {
		return nil
	}
	return s.pipes[0]
}

// next removes the first pipe, after its end.
func (s *forwarded) next() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pipes = s.pipes[1:]
}

// credit adds n bytes of credit to the window of a stream.
func (f *forwarder) credit(t link.Target, n int) error {
	f.mu.Lock()
	s := f.streams[t]
	f.mu.Unlock()
	if s == nil || !s.room.give(n) {
		return fmt.Errorf("credit of %d bytes for stream %d of rank %d: %w", n, t.Stream, t.Rank, link.ErrMalformed)
	}
	return nil
}

// finish is called when no rank is left. It returns when all output of the ranks has been sent. A process
// that has escaped the containment may hold a pipe open for ever. finish therefore waits at most escapeDelay
// for the ends of the pipes.
func (f *forwarder) finish() {
	f.mu.Lock()
	for _, s := range f.streams {
		s.mu.Lock()
		s.last = true
		for _, pipe := range s.pipes {
			// The pipe is nonblocking and still open, because the copying goroutine closes it only after next.
			// Therefore SetReadDeadline does not fail.
			_ = pipe.SetReadDeadline(time.Now().Add(escapeDelay))
		}
		s.more.Signal()
		s.mu.Unlock()
	}
	f.mu.Unlock()
	f.copying.Wait()
}

// abandon discards the output that has not been sent.
func (f *forwarder) abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.streams {
		s.room.close()
	}
}

// copy sends the contents of a pipe. It returns at the end of the pipe, or when the window is closed.
func (f *forwarder) copy(s *forwarded, pipe *os.File) {
	buf := make([]byte, link.ChunkBytesMax)
	read := pipe.Read
	for {
		room := min(len(buf), s.room.wait())
		if room == 0 {
			return
		}
		n, err := read(buf[:room])
		if n > 0 {
			s.room.take(n) // cannot fail: only this goroutine takes
			f.conn.Room()  // waits for the connection, because the windows of many ranks add up to a large sum
			f.conn.Send(link.KindOutput, s.target.Append(nil), buf[:n])
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			read = rest(pipe)
		case err != nil || n == 0:
			return
		}
	}
}

// rest returns a function that reads the bytes that are in the pipe at the time of the call of rest. The function
// ignores the deadline and does not wait. It reads no bytes that an escaped process writes later, perhaps without end.
func rest(pipe *os.File) func(buf []byte) (int, error) {
	left, err := control(pipe, present)
	return func(buf []byte) (n int, _ error) {
		if err == nil && left > 0 {
			n, err = control(pipe, func(fd int) (int, error) { return unix.Read(fd, buf[:min(len(buf), left)]) })
			left -= n
		}
		return n, err
	}
}

// present returns the number of bytes in a pipe.
func present(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.TIOCINQ) } // TIOCINQ is FIONREAD

// control calls a system call with the descriptor of a file, and returns its result, or 0 and an error.
func control(f *os.File, call func(fd int) (int, error)) (n int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(fd uintptr) { n, err = call(int(fd)) })
	return max(n, 0), errors.Join(err, failed)
}
