package doctor

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroups returns the directories, relative to Root, of the cgroups whose limits apply to this process. For
// each possible mount point of a hierarchy, the list has the cgroup of this process first and the outermost
// cgroup last. The directories need not exist. controller selects the hierarchy of cgroup v1. The hierarchy
// of cgroup v2 is always included.
func (m *Machine) cgroups(controller string) []string {
	text, err := os.ReadFile(filepath.Join(m.Root, "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(string(text)) {
		// A line has the form "hierarchy number:controllers:path" (cgroups(7)). Number 0 is cgroup v2.
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		mounts := []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		if parts[0] != "0" {
			if !strings.Contains(","+parts[1]+",", ","+controller+",") {
				continue
			}
			mounts = []string{"sys/fs/cgroup/" + controller, "sys/fs/cgroup/" + parts[1]}
		}
		for _, mount := range mounts {
			for at := path.Clean(parts[2]); ; at = path.Dir(at) {
				dirs = append(dirs, mount+at)
				if at == "/" {
					break
				}
			}
		}
	}
	return dirs
}

// tasks checks how many additional threads the cgroups allow.
func (m *Machine) tasks() Finding {
	const check = "pids cgroup"
	left, most := int64(unlimited), int64(unlimited)
	for _, dir := range m.cgroups("pids") {
		limit := m.number(dir+"/pids.max", unlimited) // "max" is no number
		if room := limit - m.number(dir+"/pids.current", 0); limit != unlimited && room < left {
			left, most = room, limit
		}
	}
	remedy := "raise TasksMax= of the service or user slice, or the container's --pids-limit"
	switch {
	case left == unlimited:
		return ok(check, "no limit of threads")
	case left < 4*threadsPerRank: // the threads of gorun itself and of a few ranks
		return fail(check, remedy, "%d of %d threads are left, and a rank has about %d", max(left, 0), most, threadsPerRank)
	case left < processesFew:
		return warn(check, remedy, "%d of %d threads are left, and a rank has about %d", left, most, threadsPerRank)
	default:
		return ok(check, "%d of %d threads are left", left, most)
	}
}

// quota checks whether the cgroups limit the time of the processors.
func (m *Machine) quota() Finding {
	const check = "processors"
	share := float64(m.Processors)
	for _, dir := range m.cgroups("cpu") {
		quota, period := m.number(dir+"/cpu.cfs_quota_us", -1), m.number(dir+"/cpu.cfs_period_us", 0)
		if words := m.read(dir + "/cpu.max"); len(words) == 2 {
			quota, period = -1, 0
			if n, err := strconv.ParseInt(words[0], 10, 64); err == nil {
				quota = n
			}
			if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
				period = n
			}
		}
		if quota > 0 && period > 0 {
			share = min(share, float64(quota)/float64(period))
		}
	}
	if share < float64(m.Processors) {
		return warn(check, "start at most that many ranks here, or raise the quota (CPUQuota=, docker --cpus, resources.limits.cpu)",
			"%d may be used, but the cgroup's quota is the time of %.3g: ranks are stopped when it is used up", m.Processors, share)
	}
	return ok(check, "%d may be used, without a quota", m.Processors)
}
