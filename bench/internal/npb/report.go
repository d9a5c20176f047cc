package npb

import (
	"fmt"
	"io"
	"time"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Report is the result of a kernel. All ranks have equal copies.
type Report struct {
	Kernel     string // "EP", "CG", ...
	Class      Class
	Size       string // problem size in the kernel's own unit
	Iterations int
	Ranks      int
	Time       time.Duration // time of the slowest rank, in the timed part only
	Mops       float64       // millions of operations per second, all ranks together
	Operation  string        // the kind of operation that Mops counts
	Values     []Value
}

// Value is one result of a kernel, and the published result with which it is compared.
type Value struct {
	Name      string
	Got, Want float64
	Tolerance float64 // relative
}

// Verified reports whether the report has values and every value agrees with the published one.
func (r *Report) Verified() bool {
	for _, v := range r.Values {
		if !Close(v.Got, v.Want, v.Tolerance) {
			return false
		}
	}
	return len(r.Values) > 0
}

// Write prints the result block of NPB (common/print_results.f90).
func (r *Report) Write(w io.Writer) error {
	verdict, line := "SUCCESSFUL", " VERIFICATION SUCCESSFUL\n"
	if !r.Verified() {
		verdict, line = "UNSUCCESSFUL", " VERIFICATION FAILED\n"
	}
	text := line
	for _, v := range r.Values {
		text += fmt.Sprintf(" %-15s = %24.16e   published %22.14e   relative error %8.1e\n",
			v.Name, v.Got, v.Want, (v.Got-v.Want)/v.Want)
	}
	text += fmt.Sprintf("\n\n %s Benchmark Completed.\n", r.Kernel)
	rate := r.Mops / float64(r.Ranks)
	for _, f := range []struct{ name, value string }{
		{"Class", string(r.Class)},
		{"Size", r.Size},
		{"Iterations", fmt.Sprint(r.Iterations)},
		{"Time in seconds", fmt.Sprintf("%.4f", r.Time.Seconds())},
		{"Total processes", fmt.Sprint(r.Ranks)},
		{"Mop/s total", fmt.Sprintf("%.2f", r.Mops)},
		{"Mop/s/process", fmt.Sprintf("%.2f", rate)},
		{"Operation type", r.Operation},
		{"Verification", verdict},
		{"Definition", "NAS Parallel Benchmarks 3.4"},
	} {
		text += fmt.Sprintf(" %-15s = %26s\n", f.name, f.value)
	}
	_, err := io.WriteString(w, text)
	return err
}

// timed calls work at the same time in all ranks, and returns the time of the slowest rank.
func timed(c *runtime.Comm, work func() error) (time.Duration, error) {
	if err := collectives.Barrier(c); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := work(); err != nil {
		return 0, err
	}
	longest := []int64{int64(time.Since(start))}
	err := collectives.AllReduce(c, longest, longest, collectives.Max)
	return time.Duration(longest[0]), err
}
