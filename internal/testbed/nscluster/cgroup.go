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

// newCgroup makes a cgroup for the processes of the hosts, below the cgroup of this process, and returns its
// directory. The hosts make their cgroups in this cgroup. The end of the cluster removes all of them, including
// those of a dead host, which no process of that host can remove. newCgroup returns "" if there is no writable
// cgroup v2 file system. The hosts then cannot make cgroups.
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

// Processor returns the processor time that all processes of the hosts have used until now, including
// processes that have ended. It returns false if the system does not count this time (cgroup v2,
// cpu.stat).
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

// usage returns the processor time in the text of a file cpu.stat.
func usage(text string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		if number, ok := strings.CutPrefix(line, "usage_usec "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			return time.Duration(n) * time.Microsecond, err
		}
	}
	return 0, fmt.Errorf("no usage_usec in %q", text)
}
