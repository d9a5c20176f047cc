package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// settle waits until all frames of a dead rank have been read. It does not wait for the end of the socket,
// because another process may have inherited the socket. Bytes that arrive in the socket's buffer from now on
// are not from the rank.
func (j *job) settle(r *rank) {
	if r.remote == nil {
		if err := shutRead(r.conn); err != nil {
			j.say("rank %d: %v", r.number, err)
		}
	}
	for {
		select {
		case n := <-j.news:
			j.handle(n)
			continue
		default:
		}
		select {
		case n := <-j.news:
			j.handle(n)
		case <-r.served:
			if len(j.news) == 0 {
				return
			}
		}
	}
}

// shutRead makes reads from a socket return the data that has arrived, and then the end of the stream.
func shutRead(f *os.File) error {
	_, err := control(f, func(fd int) (int, error) { return 0, unix.Shutdown(fd, unix.SHUT_RD) })
	return err
}
