package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// copiedFirst prepares a run of gorun on the first host. The host's private directory /run/here contains
// gorun and the program. The files are replaced rather than overwritten, because processes of the previous
// job may still execute them.
func copiedFirst(t *testing.T, c *nscluster.Cluster, args ...string) *run {
	t.Helper()
	out, err := c.Command("h0", "sh", "-c", fmt.Sprintf("mkdir -p /run/here && cp -f %s /run/here/gorun && cp -f %s /run/here/prog", binary, self)).CombinedOutput()
	require.NoError(t, err, string(out))
	r := command(t, nil)
	// Each host has its own /run.
	on := c.Command("h0", append([]string{"/run/here/gorun", "-rsh", c.SSH() + " %h env TMPDIR=/run"}, args...)...)
	r.Path, r.Args = on.Path, on.Args
	return r
}

// temporary lists the files that gorun has left in the temporary directory of a host.
func temporary(t *testing.T, c *nscluster.Cluster, host string) string {
	t.Helper()
	out, err := c.Command(host, "sh", "-c", "ls -d /run/gorun-* 2>/dev/null; true").Output()
	require.NoError(t, err)
	return string(out)
}

// With -copy, hosts that have neither gorun nor the program receive both, and remove both at the
// end of the job. Without -copy the error names the flag.
func TestCopyToHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("copies executables of tens of MB through ssh")
	}
	c := nscluster.StartSSH(t, 3)
	hosts := []string{"-host", "h0,h1:2,h2"}
	r := copiedFirst(t, c, append(hosts, helper([]string{"-l"}, "book")...)...)
	r.Args[len(r.Args)-2] = "/run/here/prog"
	require.NoError(t, r.Start())
	require.Equal(t, 125, r.wait(t))
	require.Contains(t, r.err.String(), "host h1: there is no gorun at /run/here/gorun")
	require.Contains(t, r.err.String(), "send it with -copy")

	r = copiedFirst(t, c, append(append(hosts, "-copy", "-v"), helper([]string{"-l"}, "book")...)...)
	r.Args[len(r.Args)-2] = "/run/here/prog"
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t), r.err.String())
	for rank := range 4 {
		require.Contains(t, r.out.String(), fmt.Sprintf("[%d] h00=0 h10=1 h11=1 h20=2\n", rank))
	}
	require.NotContains(t, r.err.String(), "host h0: sending", "it has the file")
	require.Equal(t, 1, strings.Count(r.err.String(), "host h1: sending /run/here/prog, "))
	require.Equal(t, 1, strings.Count(r.err.String(), "host h2: sending /run/here/prog, "))
	require.Empty(t, temporary(t, c, "h1"))

	// The copies are also removed if gorun is killed.
	r = copiedFirst(t, c, append(append(hosts, "-copy"), helper(nil, "grandchildren")...)...)
	r.Args[len(r.Args)-2] = "/run/here/prog"
	out := r.lines(t)
	require.NoError(t, r.Start())
	awaitLines(t, out, 4, "ready")
	require.NotEmpty(t, temporary(t, c, "h1"))
	for _, pid := range c.Processes("h0") {
		if strings.HasPrefix(commandLine(pid), "/run/here/gorun -rsh") {
			kill9(pid)
		}
	}
	require.NotZero(t, r.wait(t))
	empty(t, c)
	require.Empty(t, temporary(t, c, "h1"))
}

// Each host receives gorun and the program once, from its parent in the tree. The host removes both after the
// normal end of a job and after a job whose gorun was killed, and in long runs (soak) also after a job of
// which an agent was killed.
func TestCopyAlongTheTree(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("copies executables of tens of MB through ssh")
	}
	t.Parallel() // the test waits for copies
	c := nscluster.StartSSH(t, 7)
	tree := func(env []string, flags []string, name string) *run {
		r := copiedFirst(t, c, append(append(flags, "-copy", "-host", "h1,h2,h3,h4,h5,h6"), helper(nil, name)...)...)
		for i, a := range r.Args {
			if a == self {
				r.Args[i] = "/run/here/prog"
			}
		}
		r.Env = append(r.Env, env...)
		return r
	}
	kept := func() (all string) {
		for _, h := range c.Hosts()[1:] {
			if list := temporary(t, c, h); list != "" {
				all += h + ": " + list
			}
		}
		return all
	}
	r := tree(binaryTree, []string{"-v", "-l"}, "book")
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t), r.err.String())
	require.Equal(t, 6, strings.Count(r.out.String(), "h10=0 h20=1 h30=2 h40=3 h50=4 h60=5\n"))
	sent := regexp.MustCompile(`host h\d: sending .*`).FindAllString(r.err.String(), -1)
	require.Len(t, sent, 2, "gorun sends to h1 and h4 alone")
	for _, line := range sent {
		require.Regexp(t, `^host h[14]: sending /run/here/prog, \d+ bytes compressed, which passes it on to 2 more$`, line)
	}
	require.Empty(t, kept())
	victims := map[string]string{"h0": "/run/here/gorun -rsh"}
	if soak {
		victims["h4"] = "-gorun-agent"
	}
	for host, word := range victims {
		r = tree(binaryTree, nil, "grandchildren")
		out := r.lines(t)
		require.NoError(t, r.Start())
		awaitLines(t, out, 6, "ready")
		for _, h := range c.Hosts()[1:] {
			require.NotEmpty(t, temporary(t, c, h), h)
		}
		killed := 0
		for _, pid := range c.Processes(host) {
			if strings.Contains(commandLine(pid), word) {
				kill9(pid)
				killed++
			}
		}
		require.NotZero(t, killed, host)
		require.NotZero(t, r.wait(t), host)
		empty(t, c)
		require.Empty(t, kept(), host)
	}
}

// If a host has a different program under the same name, gorun reports that before a rank starts. It refuses
// a Go program that differs, and runs a script that differs.
func TestDifferentProgramsAreNamed(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "prog")
	swap := script(t, fmt.Sprintf("h=$1; shift; export GORUN_HOSTID=$h; [ $h = b ] && cp %s.b %s.new && mv %s.new %s; exec \"$@\"", name, name, name, name))
	text, err := os.ReadFile(self)
	require.NoError(t, err)
	for what, files := range map[string][2][]byte{
		"program": {text, append(text[:len(text):len(text)], 0)},
		"script":  {[]byte("#!/bin/sh\necho one\n"), []byte("#!/bin/sh\necho two\n")},
	} {
		require.NoError(t, os.WriteFile(name, files[0], 0o755))
		require.NoError(t, os.WriteFile(name+".b", files[1], 0o755))
		got := gorun(t, nil, "-host", "b", "-rsh", swap, name, helperPrefix+"join")
		require.Contains(t, got.err, "host b: "+name+" is not the file that it is here")
		if what == "script" {
			require.Zero(t, got.code, got.err)
			require.Equal(t, "two\n", got.out)
			continue
		}
		require.Equal(t, 125, got.code)
		require.Contains(t, got.err, "send it with -copy")
		require.Empty(t, got.out, "no rank runs")
	}
}

// If the program is a FIFO on a host, the agent does not block when it reads the file. The start of the
// program fails with the same error as for any file that cannot be executed.
func TestProgramThatIsAFIFOThere(t *testing.T) {
	name := filepath.Join(t.TempDir(), "prog")
	require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\n"), 0o755))
	swap := script(t, fmt.Sprintf("shift; rm %s; mkfifo -m 700 %s; exec \"$@\"", name, name))
	got := gorun(t, nil, "-host", "b", "-rsh", swap, name)
	require.Equal(t, 126, got.code, got.err)
	require.Contains(t, got.err, "host b: start "+name+": permission denied")
}

// gorun refuses a host whose gorun has the same version but was built from different code.
func TestDifferentBuildsOfGorunAreNamed(t *testing.T) {
	other := filepath.Join(t.TempDir(), "gorun")
	text, err := os.ReadFile(binary)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(other, append(text, 0), 0o755))
	got := gorun(t, nil, "-host", "a,b", "-rsh", rsh(t), "-agent-path", other, "true")
	require.Equal(t, 125, got.code)
	require.Contains(t, got.err, "host a, b: its gorun is another build of version ")
}

// Ranks of a copied gorun have the umask of their host, like ranks of an installed gorun.
func TestCopyLeavesTheUmask(t *testing.T) {
	if _, err := exec.LookPath("gzip"); err != nil {
		t.Skip("no gzip: ", err)
	}
	got := gorun(t, nil, "-copy", "-host", "a", "-rsh", script(t, "shift; umask 026; exec \"$@\"\n"), "sh", "-c", "umask")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `^0*26\n$`, got.out)
}

// If gorun cannot be copied to a host, the error names the host and the cause.
func TestCopyThatFails(t *testing.T) {
	if _, err := exec.LookPath("gzip"); err != nil {
		t.Skip("no gzip: ", err)
	}
	for name, c := range map[string]struct{ rsh, want string }{
		"no directory": {"shift; TMPDIR=/no/such exec \"$@\"", "gorun cannot be copied to it: "},
		"no shell":     {"exit 127", "gorun cannot be copied to it: "},
		"noise":        {"shift; echo hello; exec \"$@\"", `in place of gorun: "hello"`},
		"unreachable":  {"echo no way >&2; exit 255", "host a: it cannot be reached: "},
		"silent":       {"exec sleep 1000", "host a: no answer within 500ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := map[bool]string{false: "30s", true: "500ms"}[name == "silent"]
			got := gorun(t, nil, "-copy", "-answer-within", patience, "-host", "a", "-rsh", script(t, c.rsh+"\n"), "true")
			require.Equal(t, 125, got.code)
			require.NotContains(t, got.err, " -version", "the command to try by hand has no path of gorun")
			require.Contains(t, got.err, "host a: ")
			require.Contains(t, got.err, c.want)
			require.NotContains(t, got.err, "broken pipe")
		})
	}
}

// With -copy, gorun starts on a host whose shell and programs are those of BusyBox, although the head of BusyBox
// reads more than it prints.
func TestCopyToBusyBox(t *testing.T) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("there is no busybox")
	}
	dir := t.TempDir()
	for _, name := range []string{"sh", "head", "gzip", "mktemp", "chmod", "rm", "echo"} {
		require.NoError(t, os.Symlink(busybox, filepath.Join(dir, name)))
	}
	rsh := script(t, "shift; export PATH="+dir+"; exec \"$@\"")
	for range rounds() {
		got := gorun(t, nil, "-copy", "-host", "a", "-rsh", rsh, "-answer-within", "1m", filepath.Join(dir, "echo"), "hello")
		require.Equal(t, result{out: "hello\n"}, got)
	}
}
