package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// processorDirectory has a directory for each processor of the machine. A lock on it
// (flock(2)) means that a job has bound a rank to the processor: every user can take it, no
// file is created for it, and the kernel releases it when the process that holds it ends.
const processorDirectory = "/sys/devices/system/cpu"

// reservation is the processors that no other job on this machine binds ranks to.
type reservation struct {
	cpus  []int
	locks []*os.File // of the processors, for as long as this process lives
}

// reserve takes as many of the processors as there are ranks, or all of them where
// there are more ranks. The error says which of them other jobs have. Where the
// machine shows no processors warning says that, and nothing is reserved.
func reserve(directory string, cpus []int, ranks int) (r *reservation, warning, err error) {
	r = &reservation{}
	var taken []int
	wanted := min(ranks, len(cpus))
	for _, cpu := range cpus {
		if len(r.cpus) == wanted {
			break
		}
		lock, err := lockProcessor(filepath.Join(directory, "cpu"+strconv.Itoa(cpu)))
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			taken = append(taken, cpu)
			continue
		case err != nil:
			r.release()
			return &reservation{cpus: cpus[:wanted]}, fmt.Errorf("-bind-to core: other jobs may use the same processors: %w", err), nil
		}
		r.cpus, r.locks = append(r.cpus, cpu), append(r.locks, lock)
	}
	if len(r.cpus) < wanted {
		r.release()
		return nil, nil, fmt.Errorf("-bind-to core: %d of the processors %s are wanted, and other jobs have bound ranks to %s: wait for their end, start fewer ranks, or leave -bind-to out",
			wanted, bootstrap.FormatRanks(cpus), bootstrap.FormatRanks(taken))
	}
	return r, nil, nil
}

// lockProcessor takes the lock of a directory. The error is unix.EWOULDBLOCK if another
// process has it.
func lockProcessor(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	}
	return f, nil
}

// release gives the processors back.
func (r *reservation) release() {
	for _, f := range r.locks {
		_ = f.Close()
	}
	r.cpus, r.locks = nil, nil
}
