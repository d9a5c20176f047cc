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
}

func newForwarder() *forwarder { return &forwarder{streams: map[link.Target]*forwarded{}} }

// forwarded is one pipe.
type forwarded struct {
	target link.Target
	pipe   *os.File
	room   *window
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
	s := &forwarded{
		target: link.Target{Rank: r.number, Stream: linkStream(which)},
		pipe:   os.NewFile(uintptr(fd), "output"), room: newWindow(),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streams[s.target] = s
	return nil
}

// run starts the copying, after all pipes were added.
func (f *forwarder) run() {
	for _, s := range f.streams {
		f.copying.Go(func() {
			f.copy(s)
			f.conn.Send(link.KindOutputEnd, s.target.Append(nil))
			_ = s.pipe.Close()
		})
	}
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
		// A pipe that has ended is closed already.
		_ = s.pipe.SetReadDeadline(time.Now().Add(escapeDelay))
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
func (f *forwarder) copy(s *forwarded) {
	buf := make([]byte, link.ChunkBytesMax)
	read := s.pipe.Read
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
			read = s.readNow // all that was written in time is in the pipe
		case err != nil || n == 0:
			return
		}
	}
}

// readNow reads what is in the pipe.
func (s *forwarded) readNow(buf []byte) (n int, err error) {
	raw, err := s.pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	err = errors.Join(raw.Control(func(fd uintptr) { n, err = unix.Read(int(fd), buf) }), err)
	return n, err
}
