package doctor_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/doctor"
)

// limits returns the content of /proc/self/limits with three limits.
func limits(files, locked, processes string) string {
	pad := func(text string, n int) string { return text + strings.Repeat(" ", max(0, n-len(text))) }
	row := func(name, value string) string {
		return pad(name, 26) + pad("10", 21) + pad(value, 21) + "units\n"
	}
	return row("Limit", "Hard Limit") + row("Max open files", files) + row("Max locked memory", locked) + row("Max processes", processes)
}

// healthy returns the files of a machine without any fault.
func healthy() map[string]string {
	return map[string]string{
		"proc/self/limits":                            limits("1048576", "unlimited", "unlimited"),
		"proc/self/cgroup":                            "1:name=systemd:/\n0::/user.slice/me\n",
		"proc/sys/kernel/yama/ptrace_scope":           "0\n",
		"sys/kernel/mm/transparent_hugepage/enabled":  "always [madvise] never\n",
		"sys/fs/cgroup/user.slice/pids.max":           "max\n",
		"sys/fs/cgroup/user.slice/cpu.max":            "max 100000\n",
		"sys/class/infiniband/mlx5_0/ports/1/state":   "4: ACTIVE\n",
		"dev/infiniband/uverbs0":                      "",
		"usr/lib/x86_64-linux-gnu/libibverbs.so.1":    "",
		"sys/class/infiniband/mlx5_0/ports/2/state":   "1: DOWN\n",
		"sys/fs/cgroup/unified/elsewhere/pids.max":    "1\n",
		"sys/fs/cgroup/user.slice/other/pids.max":     "1\n",
		"sys/fs/cgroup/user.slice/other/pids.current": "1\n",
	}
}

// machine makes a machine whose root directory has these files.
func machine(t *testing.T, files map[string]string) *doctor.Machine {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	fine := func() error { return nil }
	return &doctor.Machine{Root: root, Processors: 8, Memfd: fine, ReadMemory: fine}
}

// All findings about a machine without faults are OK and suggest no remedy.
func TestHealthyMachine(t *testing.T) {
	found := machine(t, healthy()).Check()
	for _, f := range found {
		require.Equal(t, doctor.OK, f.Level, f.String())
		require.Empty(t, f.Remedy)
	}
	require.Len(t, found, 10)
}

// For each fault, the first finding that is not OK describes the fault and its remedy.
func TestMachinesWithAFault(t *testing.T) {
	none := errors.New("operation not permitted")
	for name, c := range map[string]struct {
		files map[string]string // changes to healthy; the text "-" removes the file
		on    func(m *doctor.Machine)
		line  string // how the first finding begins; "": there is no fault
	}{
		"no memfd":            {on: func(m *doctor.Machine) { m.Memfd = func() error { return none } }, line: "FAIL  memory        no shared memory can be made (memfd_create: operation not permitted): let the container's seccomp"},
		"no process_vm_readv": {on: func(m *doctor.Machine) { m.ReadMemory = func() error { return none } }, line: "warn  copies        process_vm_readv: operation not permitted; long messages"},
		"ptrace_scope":        {files: map[string]string{"proc/sys/kernel/yama/ptrace_scope": "1\n"}, line: "warn  copies        kernel.yama.ptrace_scope is 1; long messages within this machine are copied twice, through shared memory: sysctl kernel.yama.ptrace_scope=0"},
		"root of a container": {
			files: map[string]string{"proc/sys/kernel/yama/ptrace_scope": "1\n", "proc/self/status": "Name:\tgorun\nCapEff:\t00000000a80425fb\n"},
			on:    func(m *doctor.Machine) { m.Superuser = true }, line: "warn  copies        kernel.yama.ptrace_scope is 1; ",
		},
		"its memory to lock": {
			files: map[string]string{"proc/self/limits": limits("4096", "65536", "unlimited"), "proc/self/status": "CapEff:\t00000000a80425fb\n"},
			on:    func(m *doctor.Machine) { m.Superuser = true }, line: "warn  locked memory 64 KiB (ulimit -l) are too few",
		},
		"with the capabilities": {
			files: map[string]string{"proc/self/limits": limits("4096", "65536", "unlimited"), "proc/sys/kernel/yama/ptrace_scope": "1\n", "proc/self/status": "CapEff:\t0000000000084000\n"},
		},
		"its root user":        {files: map[string]string{"proc/sys/kernel/yama/ptrace_scope": "1\n"}, on: func(m *doctor.Machine) { m.Superuser = true }},
		"without yama":         {files: map[string]string{"proc/sys/kernel/yama/ptrace_scope": "-"}},
		"few files":            {files: map[string]string{"proc/self/limits": limits("512", "unlimited", "unlimited")}, line: "warn  open files    a process may have 512, and a rank needs one for each peer"},
		"hardly any file":      {files: map[string]string{"proc/self/limits": limits("20", "unlimited", "unlimited")}, line: "FAIL  open files    a process may have 20: raise nofile"},
		"few memory to lock":   {files: map[string]string{"proc/self/limits": limits("4096", "65536", "unlimited")}, line: "warn  locked memory 64 KiB (ulimit -l) are too few for RDMA adapters; ranks use TCP then: ulimit -l unlimited"},
		"few without adapters": {files: map[string]string{"proc/self/limits": limits("4096", "65536", "unlimited"), "sys/class/infiniband/mlx5_0/ports/1/state": "-", "sys/class/infiniband/mlx5_0/ports/2/state": "-"}},
		"few processes":        {files: map[string]string{"proc/self/limits": limits("4096", "unlimited", "100")}, line: "warn  processes     a user may have 100 threads, and a rank has about 8: raise nproc"},
		"no process":           {files: map[string]string{"proc/self/limits": limits("4096", "unlimited", "2")}, line: "FAIL  processes     a user may have 2 threads"},
		"no limits":            {files: map[string]string{"proc/self/limits": "-"}, line: "warn  limits        open "},
		"odd limits":           {files: map[string]string{"proc/self/limits": "Max open files\nMax\n\n"}, line: "warn  open files    the limit is not known"},
		"tasks of a parent": {
			files: map[string]string{"sys/fs/cgroup/user.slice/pids.max": "300\n", "sys/fs/cgroup/user.slice/pids.current": "200\n"},
			line:  "warn  pids cgroup   100 of 300 threads are left, and a rank has about 8: raise TasksMax=",
		},
		"no tasks": {
			files: map[string]string{"sys/fs/cgroup/unified/user.slice/me/pids.max": "300\n", "sys/fs/cgroup/unified/user.slice/me/pids.current": "301\n"},
			line:  "FAIL  pids cgroup   0 of 300 threads are left",
		},
		"tasks in cgroup v1": {files: map[string]string{"proc/self/cgroup": "5:pids:/docker/x\n", "sys/fs/cgroup/pids/docker/pids.max": "40\n"}, line: "warn  pids cgroup   40 of 40 threads are left"},
		"quota": {
			files: map[string]string{"sys/fs/cgroup/user.slice/me/cpu.max": "150000 100000\n"},
			line:  "warn  processors    8 may be used, but the cgroup's quota is the time of 1.5: ranks are stopped when it is used up: start at most",
		},
		"quota in cgroup v1": {
			files: map[string]string{"proc/self/cgroup": "3:cpu,cpuacct:/x\n", "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "50000\n", "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"},
			line:  "warn  processors    8 may be used, but the cgroup's quota is the time of 0.5",
		},
		"quota of nine":    {files: map[string]string{"sys/fs/cgroup/cpu.max": "900000 100000\n"}},
		"never huge":       {files: map[string]string{"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n"}, line: "warn  huge pages    transparent huge pages are switched off"},
		"no huge pages":    {files: map[string]string{"sys/kernel/mm/transparent_hugepage/enabled": "-"}, line: "warn  huge pages    the kernel has no transparent huge pages"},
		"no active port":   {files: map[string]string{"sys/class/infiniband/mlx5_0/ports/1/state": "1: DOWN\n"}, line: "warn  RDMA          adapter mlx5_0 has no active port: look at the cable"},
		"no device file":   {files: map[string]string{"dev/infiniband/uverbs0": "-"}, line: "warn  RDMA          there is no /dev/infiniband/uverbsN"},
		"no library":       {files: map[string]string{"usr/lib/x86_64-linux-gnu/libibverbs.so.1": "-"}, line: "warn  RDMA          hardware adapters need libibverbs.so.1, which is not there; ranks use TCP: apt-get install libibverbs1 ibverbs-providers"},
		"software adapter": {files: map[string]string{"usr/lib/x86_64-linux-gnu/libibverbs.so.1": "-", "sys/class/infiniband/mlx5_0/ports/1/state": "-", "sys/class/infiniband/mlx5_0/ports/2/state": "-", "sys/class/infiniband/rxe0/ports/1/state": "4: ACTIVE\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := healthy()
			maps.Copy(files, c.files)
			maps.DeleteFunc(files, func(_, text string) bool { return text == "-" })
			m := machine(t, files)
			if c.on != nil {
				c.on(m)
			}
			var bad []string
			for _, f := range m.Check() {
				if f.Level != doctor.OK {
					bad = append(bad, f.String())
				}
			}
			if c.line == "" {
				require.Empty(t, bad)
				return
			}
			require.NotEmpty(t, bad)
			require.True(t, strings.HasPrefix(bad[0], c.line), bad[0])
		})
	}
}

// Each finding about this machine has a text. A finding has a remedy if and only if its
// level is not OK.
func TestThisMachineIsExamined(t *testing.T) {
	for _, f := range doctor.This(2).Check() {
		require.NotEmpty(t, f.Text)
		require.NotEqual(t, f.Level == doctor.OK, f.Remedy != "", f.String())
	}
}

// FuzzMachine checks that no content of a machine's files makes the doctor panic.
func FuzzMachine(f *testing.F) {
	for _, text := range healthy() {
		f.Add(text, text, text)
	}
	f.Add("Max open files            1", "0::", "max max")
	f.Add("", "a:b:/c/../..\n5:cpu,pids:/\n", "9223372036854775807 -1")
	f.Fuzz(func(t *testing.T, limits, group, number string) {
		m := machine(t, map[string]string{
			"proc/self/limits": limits, "proc/self/cgroup": group, "proc/sys/kernel/yama/ptrace_scope": number,
			"sys/fs/cgroup/pids.max": number, "sys/fs/cgroup/pids.current": number, "sys/fs/cgroup/cpu.max": number,
		})
		require.NotEmpty(t, m.Check())
	})
}
