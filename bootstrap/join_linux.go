//go:build !portable

package bootstrap

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Join makes this process a rank of its job. It first sets close-on-exec on the inherited descriptors. Then
// it reads the environment and the secret.
//
// If GORUN_FDS is not set, a launcher other than gorun may have started this process together with others. If
// these processes can form one world (Foreign.Joins), they are its ranks, see [FindForeign]. In all other cases
// without GORUN_FDS, the process is a world of one rank.
func Join() (*Session, error) {
	text, ok := os.LookupEnv(EnvFDs)
	if !ok {
		if f, found := findLauncher(os.Getenv); found {
			return joinForeign(f)
		}
		return joinAlone()
	}
	fds, err := parseDescriptors(text)
	if err != nil {
		return nil, err
	}
	for _, fd := range [...]int{fds.socket, fds.memory, fds.secret} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			return nil, fmt.Errorf("bootstrap: %s=%s: descriptor %d did not reach this process (a wrapper closed it, "+
				"or a parent rank joined already): %w", EnvFDs, text, fd, err)
		}
	}
	if err := os.Unsetenv(EnvFDs); err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	// Another launcher, such as srun, may have started gorun. The child processes of this rank inherit the
	// variables of that launcher, and would try to join its job as ranks.
	if f, found := findLauncher(os.Getenv); found {
		if err := f.hide(); err != nil {
			return nil, fmt.Errorf("bootstrap: %w", err)
		}
	}
	job, err := ParseJob(os.Getenv)
	if err != nil {
		return nil, err
	}
	secret, err := readSecret(fds.secret)
	if err != nil {
		return nil, err
	}
	// The socket must be non-blocking before os.NewFile, so that the goroutine that reads the socket
	// waits in the Go runtime's poller and does not occupy a thread.
	if err := unix.SetNonblock(fds.socket, true); err != nil {
		return nil, fmt.Errorf("bootstrap: socket: %w", err)
	}
	if os.Getenv(EnvSpare) != "" {
		return joinLater(job, fds, secret)
	}
	memory, err := openMemory(fds.memory, job)
	if err != nil {
		return nil, err
	}
	s := newSession(job, os.NewFile(uintptr(fds.socket), "gorun-agent"), memory, secret)
	if s.shelf, err = mapShelf(memory, job); err != nil {
		return nil, err
	}
	go s.listen()
	return s, nil
}

func joinAlone() (*Session, error) {
	node, err := ThisNode()
	if err != nil {
		return nil, err
	}
	var set unix.CPUSet
	processors := 1
	if err := unix.SchedGetaffinity(0, &set); err == nil {
		processors = max(1, set.Count())
	}
	return Attach(Job{
		Size: 1, LocalSize: 1, Nodes: 1, ID: fmt.Sprintf("alone-%d", os.Getpid()), Node: node,
		Processors: processors, OnFailure: OnFailureKill,
	}, nil, nil, NewSecret()), nil
}

// readSecret reads the job secret and then closes the descriptor, but not after an error. It reads at offset 0 by
// pread, because all ranks share the file offset of the descriptor.
func readSecret(fd int) ([32]byte, error) {
	var s [32]byte
	n, err := unix.Pread(fd, s[:], 0)
	if err != nil {
		return s, fmt.Errorf("bootstrap: job secret: %w", err)
	}
	if n != len(s) {
		return s, fmt.Errorf("bootstrap: job secret of %d bytes: %w", n, ErrMalformed)
	}
	return s, unix.Close(fd)
}

// openMemory returns the file of the node memory if checkMemory accepts the file.
func openMemory(fd int, job Job) (*os.File, error) {
	if err := checkMemory(fd, job); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "gorun-node"), nil
}

// checkMemory returns an error if the node memory is smaller than the job requires, or if it is not sealed
// against shrinking. Without the seal, the file could shrink while ranks have it mapped.
func checkMemory(fd int, job Job) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("bootstrap: node memory: %w", err)
	}
	if job.NodeRange == 0 || st.Size/job.NodeRange < int64(job.LocalSize) {
		return fmt.Errorf("bootstrap: node memory of %d bytes for %d ranks of %d: %w", st.Size, job.LocalSize, job.NodeRange, ErrMalformed)
	}
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return fmt.Errorf("bootstrap: node memory is not sealed against shrinking: %w", ErrMalformed)
	}
	return nil
}
