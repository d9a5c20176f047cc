package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// registrationRounds is how often memory of each size is registered. The report has the medians of the times.
const registrationRounds = 9

// writeRegistrations writes the times to register and to deregister memory, by size.
func writeRegistrations(out *page, a *verbs.Adapter) error {
	domain, err := a.NewProtectionDomain()
	if err != nil {
		return err
	}
	out.say("\nregistration of memory that was touched, medians in us:\n\n  # Size      register    deregister\n")
	for size := 4 << 10; size <= 64<<20; size *= 8 {
		on, off, err := registration(domain, size)
		if err != nil {
			return errors.Join(fmt.Errorf("register %d bytes: %w", size, err), domain.Free())
		}
		out.say("  %-10d %9.1f %13.1f\n", size, microseconds(on), microseconds(off))
	}
	return domain.Free()
}

// registration returns the median times to register (on) and to deregister (off) memory of one size.
func registration(d *verbs.ProtectionDomain, size int) (on, off time.Duration, err error) {
	memory := make([]byte, size)
	for i := 0; i < size; i += 4 << 10 {
		memory[i] = 1
	}
	var ons, offs []time.Duration
	for range registrationRounds {
		began := time.Now()
		r, err := d.Register(memory, verbs.AccessLocalWrite|verbs.AccessRemoteRead)
		registered := time.Now()
		if err != nil {
			return 0, 0, err
		}
		if err := r.Close(); err != nil {
			return 0, 0, err
		}
		ons, offs = append(ons, registered.Sub(began)), append(offs, time.Since(registered))
	}
	slices.Sort(ons)
	slices.Sort(offs)
	return ons[len(ons)/2], offs[len(offs)/2], nil
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
