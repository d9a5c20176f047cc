//go:build !portable

package bootstrap

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// joinLater does the work of Join for a spare process. joinLater waits until this process gets the place of a
// lost rank. The renewal that gives the process this place also brings the node memory.
func joinLater(job Job, fds descriptors, secret [32]byte) (*Session, error) {
	s := newSession(job, os.NewFile(uintptr(fds.socket), "gorun-agent"), nil, secret)
	s.spare = true
	go s.listen()
	if err := unix.Close(fds.memory); err != nil { // a placeholder: a spare has no node memory yet
		return nil, fmt.Errorf("bootstrap: node memory: %w", err)
	}
	select {
	case <-s.Renewed():
	case <-s.lost:
		return nil, s.lostErr
	}
	if err := s.Renew(); err != nil {
		return nil, err
	}
	return s, errors.Join(os.Unsetenv(EnvSpare), s.Job().export())
}

// export sets the environment variables of this process that describe the job.
func (j Job) export() error {
	for name, value := range j.variables() {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("bootstrap: %s: %w", name, err)
		}
	}
	return nil
}
