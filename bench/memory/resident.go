package main

import (
	"bytes"
	"fmt"
	"os"
)

// residence has the proportional set size of this process in KiB (total), and its part in shared memory
// (shared). The sum of shared over all ranks is the shared memory that the ranks have touched.
type residence struct{ total, shared float64 }

// resident reads the residence from /proc/self/smaps_rollup, see proc(5).
func resident() (residence, error) {
	var r residence
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return r, err
	}
	found := 0
	for line := range bytes.Lines(text) {
		for name, value := range map[string]*float64{"Pss:": &r.total, "Pss_Shmem:": &r.shared} {
			if n, _ := fmt.Sscanf(string(line), name+" %f kB", value); n == 1 {
				found++
			}
		}
	}
	if found != 2 {
		return r, fmt.Errorf("no Pss and Pss_Shmem in /proc/self/smaps_rollup:\n%s", text)
	}
	return r, nil
}
