//go:build !portable

package bootstrap

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// NewWitness makes a witness of this process. The witness is valid while the returned file is open.
func NewWitness() (*os.File, Witness, error) {
	w := Witness{}
	_, _ = rand.Read(w.Nonce[:]) // never fails
	// /proc/self has the ID of this process in the PID namespace of the /proc mount.
	self, err := os.Readlink("/proc/self")
	if err == nil {
		_, err = fmt.Sscan(self, &w.PID)
	}
	if err != nil {
		return nil, w, fmt.Errorf("bootstrap: /proc/self: %w", err)
	}
	f, err := sealed("gorun-witness", unix.F_SEAL_WRITE, func(f *os.File) error {
		_, err := f.WriteAt(w.Nonce[:], 0)
		return err
	})
	if err == nil {
		w.FD = int(f.Fd())
	}
	return f, w, err
}

// Find returns "" if the process of the witness is on this node and of the same user. Otherwise it returns the
// reason why it is not.
func (w Witness) Find() string {
	// If the witness is from another machine, PID and FD may name a pipe of an unrelated process of this
	// machine. With O_NONBLOCK, open does not block on a pipe.
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", w.PID, w.FD), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	// The owner is checked because ranks of different users must not be on one node, and root can open the
	// files of all users' processes.
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err.Error()
	}
	if own := os.Geteuid(); int(st.Uid) != own {
		return fmt.Sprintf("process %d is of user %d, this one of user %d", w.PID, st.Uid, own)
	}
	var nonce [nonceBytes]byte
	if _, err := f.ReadAt(nonce[:], 0); err != nil {
		return err.Error()
	}
	if nonce != w.Nonce {
		return fmt.Sprintf("process %d of this node is another process: its descriptor %d has another nonce", w.PID, w.FD)
	}
	return ""
}

// apart returns "" if this process and the process of the witness are in one PID namespace, otherwise the
// reason why they may be in different ones. Ranks of a node must be in one PID namespace, because they read
// each other's memory by process ID.
func (w Witness) apart() string {
	var theirs, ours unix.Stat_t
	err := errors.Join(unix.Stat(fmt.Sprintf("/proc/%d/ns/pid", w.PID), &theirs), unix.Stat("/proc/self/ns/pid", &ours))
	if err != nil || theirs.Ino != ours.Ino {
		return fmt.Sprintf("process %d is in another PID namespace", w.PID)
	}
	return ""
}

// open opens the file of the witness.
func (w Witness) open(flags int) (int, error) {
	// The comment in Find gives the reason for O_NONBLOCK.
	return unix.Open(fmt.Sprintf("/proc/%d/fd/%d", w.PID, w.FD), flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
}
