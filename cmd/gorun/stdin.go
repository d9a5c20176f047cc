package main

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// stdinFeed copies standard input to the ranks that get it. Rank 0 alone gets
// it without copying (spawner.inherit), unless it is a terminal: ranks are in
// process groups of their own and may not read from it.
type stdinFeed struct {
	all bool

	mu    sync.Mutex // guards what follows
	data  []byte     // everything read so far, for ranks that read slowly
	ended bool
	more  *sync.Cond // data or ended changed
	sinks []*os.File
}

// newStdin decides how standard input reaches the ranks: a file that rank 0
// inherits, or a feed, or neither.
func newStdin(mode string) (inherit *os.File, feed *stdinFeed) {
	terminal := isTerminal(0)
	switch {
	case mode == stdinNone:
		return nil, nil
	case terminal && !inForeground(0):
		return nil, nil // reading would stop gorun
	case mode == stdinFirst && !terminal:
		return os.Stdin, nil
	}
	feed = &stdinFeed{all: mode == stdinAll}
	feed.more = sync.NewCond(&feed.mu)
	return nil, feed
}

// feeds reports whether a rank gets the input.
func (f *stdinFeed) feeds(rank int) bool { return f.all || rank == 0 }

// add hands over the writing end of a rank's pipe.
func (f *stdinFeed) add(w *os.File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sinks = append(f.sinks, w)
}

// run starts copying. It ends with the process: a read from a terminal
// cannot be called off.
func (f *stdinFeed) run() {
	f.mu.Lock()
	sinks := f.sinks
	f.mu.Unlock()
	for _, w := range sinks {
		go f.write(w)
	}
	go f.read()
}

func (f *stdinFeed) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := readInput(buf)
		f.mu.Lock()
		f.data = append(f.data, buf[:max(n, 0)]...)
		f.ended = n <= 0 || err != nil
		ended := f.ended
		f.mu.Unlock()
		f.more.Broadcast()
		if ended {
			return
		}
	}
}

// readInput reads standard input once, and from a terminal only while gorun
// is in the foreground: otherwise the read would stop it.
func readInput(buf []byte) (int, error) {
	for {
		poll := []unix.PollFd{{Fd: 0, Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil && err != unix.EINTR {
			return 0, err
		}
		if isTerminal(0) && !inForeground(0) {
			// Nothing tells when the shell gives the terminal back.
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

// write copies everything to one rank, at its own speed.
func (f *stdinFeed) write(w *os.File) {
	defer func() { _ = w.Close() }()
	for at := 0; ; {
		f.mu.Lock()
		for at == len(f.data) && !f.ended {
			f.more.Wait()
		}
		chunk := f.data[at:]
		f.mu.Unlock()
		if len(chunk) == 0 {
			return
		}
		n, err := w.Write(chunk)
		if err != nil {
			return // the rank does not want more
		}
		at += n
	}
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// inForeground reports whether this process may read from its terminal.
func inForeground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
