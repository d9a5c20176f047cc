package nscluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/internal/cgroup"
)

// newCgroup makes a cgroup for the processes of the hosts, below that of this
// process, and returns its directory: what they make there is removed with the cluster,
// even if no process of a dead host can remove it. It returns "" if there is no writable
// cgroup v2 file system; then the hosts cannot make cgroups either.
func newCgroup() string {
	own, err := cgroup.Own()
	if err != nil {
		return ""
	}
	dir, err := os.MkdirTemp(own, "nscluster-")
	if err != nil {
		return ""
	}
	return dir
}

// Processor returns the processor time that all processes of the hosts have used until now, those
// that have ended among them; false where the system does not count it (cgroup v2, cpu.stat).
func (c *Cluster) Processor() (time.Duration, bool) {
	if c.group == "" {
		return 0, false
	}
	text, err := os.ReadFile(filepath.Join(c.group, "cpu.stat"))
	if err != nil {
		return 0, false
	}
	d, err := usage(string(text))
	return d, err == nil
}

// usage finds the time in a file cpu.stat.
func usage(text string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		if number, ok := strings.CutPrefix(line, "usage_usec "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			return time.Duration(n) * time.Microsecond, err
		}
	}
	return 0, fmt.Errorf("no usage_usec in %q", text)
}
