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

// processorDirectory contains a directory for each processor of the machine. A lock on such a
// directory (flock(2)) means that a job has bound a rank to the processor. Every user can acquire
// the lock, no file is created for it, and the kernel releases it when the process that holds it
// ends.
const processorDirectory = "/sys/devices/system/cpu"

// reservation holds processors for ranks. If the processors are locked, no other job on this machine binds ranks to
// them.
type reservation struct {
	cpus  []int
	locks []*os.File // on the processors, until release or the end of this process
}

// reserve reserves one of the processors for each rank. If there are more ranks than processors, it reserves
// all processors. If too few processors are free, the error names the processors that other jobs have reserved.
// If a lock cannot be acquired for another reason, for example because the machine has no directory of
// processors, reserve locks no processor, and returns the first processors of the list with a warning.
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

// lockProcessor acquires the lock of a directory. The error is unix.EWOULDBLOCK if another process
// holds it.
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

// release releases the locks of the processors.
func (r *reservation) release() {
	for _, f := range r.locks {
		_ = f.Close()
	}
	r.cpus, r.locks = nil, nil
}
