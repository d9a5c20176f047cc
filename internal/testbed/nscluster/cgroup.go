package nscluster

import (
	"os"

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
