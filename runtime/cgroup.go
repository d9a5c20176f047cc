package runtime

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// cgroupMemory returns how many bytes of memory the cgroups of this process allow. The result is the
// lowest limit of all levels of both versions of cgroups, or unlimited if no limit is set or none can be
// read. root is the root of the file system.
func cgroupMemory(root fs.FS) uint64 {
	self, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return unlimited
	}
	least := uint64(unlimited)
	for line := range strings.Lines(string(self)) {
		// cgroups(7): hierarchy, controllers, path. Version 2 has hierarchy 0 and no controllers.
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(fields) < 3:
		case fields[0] == "0" && fields[1] == "":
			least = min(least, limitOf(root, "sys/fs/cgroup", fields[2], "memory.max"))
		case strings.Contains(","+fields[1]+",", ",memory,"):
			least = min(least, limitOf(root, "sys/fs/cgroup/memory", fields[2], "memory.limit_in_bytes"))
		}
	}
	return least
}

// limitOf returns the lowest limit of a cgroup and its ancestors. In a container, dir may be a path
// of another namespace. Then only the limit in the directory mount itself can be read.
func limitOf(root fs.FS, mount, dir, file string) uint64 {
	least := uint64(unlimited)
	for dir = path.Clean("/" + dir); ; dir = path.Dir(dir) {
		text, err := fs.ReadFile(root, path.Join(mount, dir, file))
		if err == nil {
			if v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil { // "max" is no limit
				least = min(least, v)
			}
		}
		if dir == "/" {
			return least
		}
	}
}
