package runtime

import (
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

// FuzzCgroupMemory requires that cgroupMemory does not panic for any contents of the files, and
// that it returns unlimited if the file of the limit is empty.
func FuzzCgroupMemory(f *testing.F) {
	f.Add("0::/a\n", "a", "1000")
	f.Add("4:memory:/a/..\n0::", "..", "max")
	f.Add("0::/\n\x00:::", "", "18446744073709551616")
	f.Fuzz(func(t *testing.T, self, dir, limit string) {
		files := fstest.MapFS{
			"proc/self/cgroup":            {Data: []byte(self)},
			"sys/fs/cgroup/memory.max":    {Data: []byte(limit)},
			"sys/fs/cgroup/" + dir + "/x": {},
		}
		got := cgroupMemory(files)
		require.True(t, got == unlimited || limit != "")
	})
}
