package main

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// allowedCPUs returns the processors this process may run on, ascending.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	var cpus []int
	for i, left := 0, set.Count(); left > 0; i++ {
		if set.IsSet(i) {
			cpus = append(cpus, i)
			left--
		}
	}
	return cpus, nil
}

// bindThread restricts the calling thread, and with it the processes it
// starts, to some processors.
func bindThread(cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("bind to processors %s: %w", bootstrap.FormatRanks(cpus), err)
	}
	return nil
}
