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

// forwarder sends what the ranks of an agent write to the gorun that has started
// the agent: from each pipe as much as its window allows, so that a slow reader
// there slows the ranks down here.
type forwarder struct {
	conn *link.Conn

	mu      sync.Mutex // guards what follows
	streams map[link.Target]*forwarded
	copying sync.WaitGroup
	running bool
	// lasting says that a stream goes on with the pipe of its rank's next process.
	lasting bool
}

func newForwarder() *forwarder { return &forwarder{streams: map[link.Target]*forwarded{}} }

// forwarded is a stream of a rank: one pipe, or those of its processes one after the other.
type forwarded struct {
	target link.Target
	room   *window

	mu    sync.Mutex // guards what follows
	more  *sync.Cond
	pipes []*os.File // the first is the one that is read
	last  bool       // none follows
}

// linkStream is the number of a stream of output in the protocol.
func linkStream(which stream) link.Stream {
	if which == streamErr {
		return link.Stderr
	}
	return link.Stdout
}

// add takes over the reading end of a pipe of a rank, which does not block.
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

// run starts the copying, after all pipes of the first processes were added.
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

// pipe waits for a pipe to read: nil if none follows.
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

// next is called at the end of a pipe.
func (s *forwarded) next() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pipes = s.pipes[1:]
}

// credit enlarges the room of a stream.
func (f *forwarder) credit(t link.Target, n int) error {
	f.mu.Lock()
	s := f.streams[t]
	f.mu.Unlock()
	if s == nil || !s.room.give(n) {
		return fmt.Errorf("credit of %d bytes for stream %d of rank %d: %w", n, t.Stream, t.Rank, link.ErrMalformed)
	}
	return nil
}

// finish is called when no rank is left, and returns when all their output has been sent. A
// process that escaped the job may hold a pipe open for ever.
func (f *forwarder) finish() {
	f.mu.Lock()
	for _, s := range f.streams {
		s.mu.Lock()
		s.last = true
		for _, pipe := range s.pipes {
			// A pipe that has ended is closed already.
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

// copy returns at the end of a pipe.
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
			f.conn.Room()  // the windows of many ranks are much together
			f.conn.Send(link.KindOutput, s.target.Append(nil), buf[:n])
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			read = func(buf []byte) (int, error) { return readNow(pipe, buf) } // all that was written in time is in the pipe
		case err != nil || n == 0:
			return
		}
	}
}

// readNow reads what is in the pipe.
func readNow(pipe *os.File, buf []byte) (n int, err error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	err = errors.Join(raw.Control(func(fd uintptr) { n, err = unix.Read(int(fd), buf) }), err)
	return n, err
}
