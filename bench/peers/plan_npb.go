package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// timeoutNPB is the timeout for a run of a NAS kernel. It suffices for class A on a loaded machine.
const timeoutNPB = 90 * time.Second

var (
	npbKernels = []string{"EP", "CG", "IS", "MG", "FT", "LU"}
	npbClasses = []string{"S", "W", "A", "B"}
	npbRanks   = []int{2, 4}
)

// npbPlan compares the NAS kernels of bench/npb with the reference codes. The user must have built the
// reference codes.
func npbPlan() plan {
	p := plan{name: "npb", references: true, long: true, summary: true, load: true, peers: systems}
	for _, kernel := range npbKernels {
		for _, class := range npbClasses {
			for _, ranks := range npbRanks {
				key := fmt.Sprintf("%s %s, %d ranks", kernel, class, ranks)
				p.measurements = append(p.measurements, measurement{
					key: key, program: "npb", ranks: ranks, bound: ranks == 2, timeout: timeoutNPB,
					ours: []string{"-kernel", kernel, "-class", class}, reference: fmt.Sprintf("%s.%s.x", strings.ToLower(kernel), class),
				})
				p.rows = append(p.rows, row{name: key, unit: "Mop/s", measurement: key, against: better, higher: true, bar: 1, aim: 1.2})
			}
		}
	}
	return p
}

// referencePath returns the path of a reference code that was built with the compilers of the
// system. Each system has a copy of the tree of the codes, in a directory with the system's name.
func (s *system) referencePath(program string) string {
	return filepath.Join(s.references, s.name, "bin", program)
}

// mops matches the line of a kernel's report that contains the speed. verified matches the line that says
// that the results are right.
var (
	mops     = regexp.MustCompile(`(?m)^ Mop/s total +=\s+([0-9.]+)`)
	verified = regexp.MustCompile(`(?m)^ Verification +=\s+SUCCESSFUL`)
)

// parseReport parses the report of a NAS kernel and returns its Mop/s under size 0.
func parseReport(text string) (map[int]float64, error) {
	fields := mops.FindStringSubmatch(text)
	switch {
	case fields == nil:
		return nil, fmt.Errorf("no Mop/s in %q", text)
	case !verified.MatchString(text):
		return nil, errors.New("the results are not verified")
	}
	v, err := strconv.ParseFloat(fields[1], 64)
	return map[int]float64{0: v}, err
}

// loadOf is the name under which the load average before each run is stored. It takes the place of a system's
// name.
const loadOf = "load"

// noteLoad stores the load average over one minute with the results of m.
func (c *comparison) noteLoad(m *measurement) {
	text, _, _ := strings.Cut(read("/proc/loadavg"), " ")
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		c.result.add(m.key, loadOf, map[int]float64{0: v})
	}
}
