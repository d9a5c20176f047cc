package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// newProbe makes a descriptor with a nonce: an agent that can read it below /proc of this
// process is on the same node. Another machine with the same boot ID, such as a copy of a
// snapshot, cannot; neither can a container with other processes. The descriptor has no
// name that could be left behind.
func newProbe() (*os.File, link.Probe, error) {
	nonce := bootstrap.NewSecret()
	f, err := bootstrap.SecretFile(nonce)
	if err != nil {
		return nil, link.Probe{}, err
	}
	// The ID of this process in the PID namespace in which /proc was mounted.
	self, err := os.Readlink("/proc/self")
	var pid int
	if err == nil {
		_, err = fmt.Sscan(self, &pid)
	}
	if err != nil {
		return nil, link.Probe{}, fmt.Errorf("/proc/self: %w", err)
	}
	return f, link.Probe{PID: pid, FD: int(f.Fd()), Nonce: nonce[:link.NonceBytes]}, nil
}

// find looks for the process of a probe and returns why it is not on this node,
// "" if it is.
func find(p link.Probe) string {
	// If it is a pipe of another process, opening it must not wait.
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", p.PID, p.FD), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	// Root can read the processes of all users, but the ranks of two users are two nodes.
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err.Error()
	}
	if own := os.Geteuid(); int(st.Uid) != own {
		return fmt.Sprintf("process %d is of user %d, this one of user %d", p.PID, st.Uid, own)
	}
	nonce := make([]byte, len(p.Nonce))
	if _, err := f.ReadAt(nonce, 0); err != nil {
		return err.Error()
	}
	if !bytes.Equal(nonce, p.Nonce) {
		return strings.TrimSpace(f.Name() + " is another one's")
	}
	return ""
}
