package runtime

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// cgroupMemory returns the lowest memory limit of the process's control group and its ancestors, in
// versions 1 and 2.
func TestCgroupMemory(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for _, c := range []struct {
		name string
		fs   fstest.MapFS
		want uint64
	}{
		{"nothing to read", fstest.MapFS{}, unlimited},
		{"no limit", fstest.MapFS{
			"proc/self/cgroup": file("0::/a\n"), "sys/fs/cgroup/a/memory.max": file("max\n"),
		}, unlimited},
		{"of the group", fstest.MapFS{
			"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("1000\n"),
			"sys/fs/cgroup/a/memory.max": file("2000\n"), "sys/fs/cgroup/other/memory.max": file("1\n"),
		}, 1000},
		{"of one above", fstest.MapFS{
			"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("3000\n"),
			"sys/fs/cgroup/a/memory.max": file("2000\n"),
		}, 2000},
		{"of the container", fstest.MapFS{
			"proc/self/cgroup": file("0::/docker/1234\n"), "sys/fs/cgroup/memory.max": file("500\n"),
		}, 500},
		{"of version 1", fstest.MapFS{
			"proc/self/cgroup": file("7:cpu,cpuacct:/x\n4:hugetlb,memory:/job\n0::/\n"),
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes":   file("700\n"),
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes":     file("1\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":       file("9223372036854771712\n"),
			"sys/fs/cgroup/memory/other/memory.limit_in_bytes": file("2\n"),
		}, 700},
		{"of the lower of both", fstest.MapFS{
			"proc/self/cgroup": file("4:memory:/j\n0::/j"),
			"sys/fs/cgroup/memory/j/memory.limit_in_bytes": file("700"),
			"sys/fs/cgroup/j/memory.max":                   file("600"),
		}, 600},
		{"a path with colons", fstest.MapFS{
			"proc/self/cgroup": file("0::/a:b\n"), "sys/fs/cgroup/a:b/memory.max": file("800\n"),
		}, 800},
		{"rubbish", fstest.MapFS{
			"proc/self/cgroup": file("0:/a\n\n::\n0::../../etc\n"), "sys/fs/cgroup/etc/memory.max": file("-1 x\n"),
		}, unlimited},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, cgroupMemory(c.fs)) })
	}
}

// FuzzCgroupMemory compares cgroupMemory with an oracle. In the test, only the root cgroup of each version has a
// limit. The root contains every cgroup of its version, so the limit counts if any line of /proc/self/cgroup is of
// that version.
func FuzzCgroupMemory(f *testing.F) {
	f.Add("0::/a\n", "1000", "2000")
	f.Add("4:memory:/a/..\n0::", "2000", "1000\n")
	f.Add("3:cpu:/\n4:cpu,memory,pids:/a:b", "5", "max")
	f.Add("0::/\n\x00:::", "18446744073709551616", "7")
	f.Add("0:memory:/\n0:/\n:memoryx:/", "-1", " 8 ")
	f.Add("4:memoryx,xmemory:/", "1", "2")
	f.Fuzz(func(t *testing.T, self, limit2, limit1 string) {
		files := fstest.MapFS{
			"proc/self/cgroup":                           {Data: []byte(self)},
			"sys/fs/cgroup/memory.max":                   {Data: []byte(limit2)},
			"sys/fs/cgroup/memory/memory.limit_in_bytes": {Data: []byte(limit1)},
		}
		want := uint64(unlimited)
		consider := func(limit string) {
			if v, err := strconv.ParseUint(strings.TrimSpace(limit), 10, 64); err == nil && v < want {
				want = v
			}
		}
		for _, line := range strings.Split(self, "\n") {
			hierarchy, rest, _ := strings.Cut(line, ":")
			controllers, _, whole := strings.Cut(rest, ":")
			switch {
			case !whole:
			case slices.Contains(strings.Split(controllers, ","), "memory"):
				consider(limit1)
			case hierarchy == "0" && controllers == "":
				consider(limit2)
			}
		}
		require.Equal(t, want, cgroupMemory(files))
	})
}
