//go:build linux

package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mountLine returns a line of mountinfo for a cgroup v2 file system.
func mountLine(root, point, mode string) string {
	return "41 31 0:38 " + root + " " + point + " " + mode + ",relatime shared:5 - cgroup2 cgroup2 rw,nsdelegate\n"
}

// otherMounts has lines of mountinfo for file systems other than cgroup v2.
const otherMounts = "23 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n" +
	"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n" +
	"32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"

func TestCgroupOfAProcess(t *testing.T) {
	const point = "/sys/fs/cgroup"
	for name, c := range map[string]struct{ mounts, self, want string }{
		"the root":                 {mountLine("/", point, "rw"), "0::/\n", point},
		"below it":                 {otherMounts + mountLine("/", point, "rw"), "0::/user.slice/a b\n", point + "/user.slice/a b"},
		"beside version 1":         {mountLine("/", point+"/unified", "rw"), "4:memory:/x\n0::/y\n1:name=systemd:/z\n", point + "/unified/y"},
		"a part is mounted":        {mountLine("/docker/abc", point, "rw"), "0::/docker/abc/job\n", point + "/job"},
		"just that part":           {mountLine("/docker/abc", point, "rw"), "0::/docker/abc\n", point},
		"with escapes":             {mountLine(`/a\040b`, `/mnt/c\134d`, "rw"), "0::/a b/c\n", `/mnt/c\d/c`},
		"the second mount":         {mountLine("/", "/ro", "ro") + mountLine("/", "/rw", "rw"), "0::/x\n", "/rw/x"},
		"no newline at the end":    {mountLine("/", point, "rw"), "0::/x", point + "/x"},
		"no version 2":             {otherMounts, "4:memory:/x\n", ""},
		"not mounted":              {otherMounts, "0::/x\n", ""},
		"read-only":                {mountLine("/", point, "ro"), "0::/x\n", ""},
		"another part is mounted":  {mountLine("/docker/abc", point, "rw"), "0::/docker/abcdef\n", ""},
		"outside of the namespace": {mountLine("/", point, "rw"), "0::/../x\n", ""},
		"far outside":              {mountLine("/", point, "rw"), "0::/..\n", ""},
		"nothing":                  {"", "", ""},
		"an empty path":            {mountLine("/", point, "rw"), "0::\n", ""},
	} {
		got, err := dirOf(c.mounts, c.self)
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.want == "", err != nil, name)
	}
}

func TestRemove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	require.NoError(t, Remove(dir), "there is none")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, Remove(dir))
	require.NoDirExists(t, dir)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "c"), 0o700))
	require.NoError(t, Remove(dir), "with others below it")
	require.NoDirExists(t, dir)
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600), "as a process keeps a cgroup")
	require.Error(t, Remove(dir))
}

func FuzzCgroup(f *testing.F) {
	mounts, self := otherMounts+mountLine("/docker", "/sys/fs/cgroup", "rw"), "4:memory:/x\n0::/docker/job\n"
	for n := range len(mounts) + 1 {
		f.Add(mounts[:n], self)
	}
	for n := range len(self) + 1 {
		f.Add(mounts, self[:n])
	}
	f.Add(mountLine("/", `/a\040b\`, "rw"), "0::/../../etc\n")
	f.Fuzz(func(t *testing.T, mounts, self string) {
		dir, err := dirOf(mounts, self)
		if err != nil {
			require.Empty(t, dir)
			return
		}
		// The directory must be at or below a place where a cgroup v2 file system is mounted.
		found := false
		for line := range strings.Lines(mounts) {
			if fields := strings.Fields(line); len(fields) > 4 && strings.Contains(line, " - cgroup2 ") {
				below, err := filepath.Rel(unescape(fields[4]), dir)
				found = found || err == nil && below != ".." && !strings.HasPrefix(below, "../")
			}
		}
		require.True(t, found, dir)
	})
}
