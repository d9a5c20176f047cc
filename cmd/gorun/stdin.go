package main

import (
	"math"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/blocking"
)

// stdinFeed copies standard input to the ranks of this machine that get it. If only one rank gets standard input,
// the rank is not remote, and standard input is not a terminal, the rank inherits standard input and gorun copies
// nothing. A rank cannot read from a terminal, because ranks are in process groups of their own.
type stdinFeed struct {
	all  bool
	only int // the rank that gets standard input, if all is false
	// ahead bounds the input that is kept for slow ranks: the feed takes more input only while data has at most
	// that many bytes. If used is not nil, it is called with the number of bytes for which the feed has got
	// new room.
	ahead int
	used  func(n int)

	mu      sync.Mutex // guards what follows
	data    []byte     // input that has not been written to every sink yet
	base    int        // position of data in the input
	granted int        // number of bytes for which used was called
	ended   bool
	more    *sync.Cond // signals that data or ended has changed
	sinks   []*sink
}

// aheadBytes is the value of stdinFeed.ahead if all ranks get the input.
const aheadBytes = 4 << 20

// sink is the pipe of a rank.
type sink struct {
	w  *os.File
	at int // number of bytes that the rank has got; the constant closed if the pipe is closed
}

// newFeed returns a feed without sinks.
func newFeed(all bool, only int) *stdinFeed {
	f := &stdinFeed{all: all, only: only}
	if all {
		f.ahead = aheadBytes
	}
	f.more = sync.NewCond(&f.mu)
	return f
}

// newStdin decides how standard input reaches the ranks. It returns a file if only one rank gets standard
// input and standard input is not a terminal: a rank on this machine inherits the file. It returns a feed if
// gorun has to copy standard input, and two nil values if no rank gets it.
func newStdin(mode string, only int) (inherit *os.File, feed *stdinFeed) {
	terminal := isTerminal(0)
	switch {
	case mode == stdinNone:
		return nil, nil
	case terminal && !inForeground():
		return nil, nil // a read of the terminal would stop this background process
	case only >= 0 && !terminal:
		return os.Stdin, nil
	}
	return nil, newFeed(mode == stdinAll, only)
}

// feeds reports whether a rank gets the input.
func (f *stdinFeed) feeds(rank int) bool { return f.all || rank == f.only }

// pipe makes another sink and returns the reading end of its pipe.
func (f *stdinFeed) pipe() (*os.File, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sinks = append(f.sinks, &sink{w: write})
	return read, nil
}

// run starts copying from this process's standard input. The copying lasts until the input or the
// process ends, because a read of standard input cannot be canceled.
func (f *stdinFeed) run() {
	f.deliver()
	go f.read()
}

// deliver starts a goroutine for each sink.
func (f *stdinFeed) deliver() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sinks {
		go f.write(s)
	}
}

func (f *stdinFeed) read() {
	buf := make([]byte, 64<<10)
	for {
		f.await()
		n, err := readInput(buf)
		if n > 0 {
			f.append(buf[:n])
		}
		if n <= 0 || err != nil {
			f.end()
			return
		}
	}
}

// await waits until the feed takes more input.
func (f *stdinFeed) await() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.data) > f.ahead {
		f.more.Wait()
	}
}

// append adds a copy of data to the input.
func (f *stdinFeed) append(data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data = append(f.data, data...)
	f.trim()
	f.more.Broadcast()
}

// end marks the end of the input.
func (f *stdinFeed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.more.Broadcast()
}

// trim releases the input that every open sink has got, and calls used. Callers hold mu.
func (f *stdinFeed) trim() {
	end := f.base + len(f.data)
	low := end
	for _, s := range f.sinks {
		low = min(low, s.at)
	}
	if n := low - f.base; n > 0 {
		f.base = low
		if f.data = f.data[n:]; len(f.data) == 0 {
			f.data = nil
		}
		f.more.Broadcast()
	}
	if n := f.base + min(len(f.data), f.ahead) - f.granted; n > 0 && f.used != nil {
		f.granted += n
		f.used(n)
	}
}

// readInput reads standard input once. It reads from a terminal only while gorun is in the
// foreground: in the background the read would stop gorun (SIGTTIN).
func readInput(buf []byte) (int, error) {
	for {
		poll := []unix.PollFd{{Fd: 0, Events: unix.POLLIN}}
		if errno := blocking.Poll(poll, nil); errno != 0 && errno != unix.EINTR {
			return 0, errno
		}
		if isTerminal(0) && !inForeground() {
			// gorun polls, because nothing reports that the shell has put gorun in the foreground again.
			_, _ = unix.Poll(nil, 200)
			continue
		}
		n, err := unix.Read(0, buf)
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		return n, err
	}
}

// closed is greater than every position in the input.
const closed = math.MaxInt

// write copies the whole input to one rank, as fast as that rank reads.
func (f *stdinFeed) write(s *sink) {
	for s.at != closed {
		f.mu.Lock()
		for s.at == f.base+len(f.data) && !f.ended {
			f.more.Wait()
		}
		chunk := f.data[s.at-f.base:]
		f.mu.Unlock()
		n, err := 0, error(nil)
		if len(chunk) > 0 {
			n, err = s.w.Write(chunk)
		}
		f.mu.Lock()
		if s.at += n; len(chunk) == 0 || err != nil { // end of input, or the rank has closed its end
			s.at = closed
		}
		f.trim()
		f.mu.Unlock()
	}
	_ = s.w.Close()
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// inForeground reports whether this process may read from its terminal, if standard input is the terminal.
func inForeground() bool {
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
