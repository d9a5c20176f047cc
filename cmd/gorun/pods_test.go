package main_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// podScript is a shell script that makes a container from an image that has only two programs. It adds the
// files that a kubelet adds: /proc, a few devices, /etc/hosts and the Secret. The command is process 1 of the
// container.
const podScript = `#!/bin/sh
# usage: pod inside|outside ROOT NAME DIRECTORY GORUN PROGRAM COMMAND...
set -e
if [ "$1" = outside ]; then
	shift
	exec unshare --mount --uts --pid --ipc --fork --kill-child -- sh "$0" inside "$@"
fi
# quoted is a word in the language of the shell.
quoted() { printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }
root=$2 name=$3 dir=$4 gorun=$5 prog=$6
shift 6
env=
while [ "$1" != -- ]; do
	env="$env $(quoted "$1")"
	shift
done
shift
mount -t tmpfs pod "$root"
cd "$root"
mkdir -p bin proc dev/shm etc/gorun
cp "$gorun" bin/gorun
cp "$prog" bin/prog
for f in $(ldd "$gorun" "$prog" 2>/dev/null | grep -o '/[^ )]*' | grep -v :); do # libraries of the race detector
	cp --parents "$f" .
done
mount -t proc proc proc
mount -t tmpfs shm dev/shm
for f in null urandom; do # by bind mounts, which containers permit that forbid mknod
	: >dev/$f
	mount --bind /dev/$f dev/$f
done
cp "$dir/hosts" etc/hosts
cp "$dir/secret" etc/gorun/secret
echo "$name" >proc/sys/kernel/hostname
eval exec env -i "$env" "$(command -v chroot)" . '"$@"'
`

// podSet holds the pods of a job, one on each host.
type podSet struct {
	*nscluster.Cluster
	dir     string
	name    string // the name of the job
	command []string
	env     []string
	program string // "": this test binary
}

// These expressions match the parts of a manifest that a kubelet and the job controller use.
var (
	manifestName    = regexp.MustCompile(`(?m)^  name: (\S+)$`)
	manifestSecret  = regexp.MustCompile(`(?m)^stringData: \{secret: "(\w+)"\}$`)
	manifestCommand = regexp.MustCompile(`(?m)^        command: (\[.*\])$`)
	manifestEnv     = regexp.MustCompile(`(?m)^        - \{name: "(\w+)", value: (".*")\}$`)
	manifestPods    = regexp.MustCompile(`(?m)^  (?:completions|parallelism): (\d+)$`)
)

// kubelet replaces "$$" in commands and variables, as Kubernetes does. A manifest of gorun has no other text
// that Kubernetes replaces.
var kubelet = strings.NewReplacer("$$", "$")

// podsOf makes the pods of the manifest that gorun prints for the flags.
func podsOf(t *testing.T, count int, flags ...string) *podSet {
	t.Helper()
	c := nscluster.Start(t, count)
	got := gorun(t, nil, append([]string{"-k8s-manifest", "-image", "registry/image:1"}, flags...)...)
	require.Zero(t, got.code, got.err)
	name := manifestName.FindStringSubmatch(got.out)
	require.NotNil(t, name, got.out)
	p := &podSet{Cluster: c, dir: t.TempDir(), name: name[1], env: []string{"PATH=/bin"}}
	for _, m := range manifestPods.FindAllStringSubmatch(got.out, -1) {
		require.Equal(t, fmt.Sprint(count), m[1])
	}
	require.NoError(t, json.Unmarshal([]byte(manifestCommand.FindStringSubmatch(got.out)[1]), &p.command))
	for i := range p.command {
		p.command[i] = kubelet.Replace(p.command[i])
	}
	for _, m := range manifestEnv.FindAllStringSubmatch(got.out, -1) {
		var value string
		require.NoError(t, json.Unmarshal([]byte(m[2]), &value))
		p.env = append(p.env, m[1]+"="+kubelet.Replace(value))
	}
	p.prepare(t, manifestSecret.FindStringSubmatch(got.out)[1])
	return p
}

// prepare writes the files that the containers need.
func (p *podSet) prepare(t *testing.T, secret string) {
	t.Helper()
	table := "127.0.0.1 localhost\n"
	for i, h := range p.Hosts() {
		table += fmt.Sprintf("%v %[2]s-%[3]d.%[2]s\n", p.Address(h), p.name, i)
	}
	for name, text := range map[string]string{"hosts": table, "secret": secret + "\n", "pod": podScript} {
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600))
	}
}

// pod is a container that runs.
type pod struct {
	*run
	stdout, stderr *bufio.Reader
}

// start starts pod i. It adds the variables in more to the environment of the pod.
func (p *podSet) start(t *testing.T, i int, more ...string) *pod {
	t.Helper()
	r := command(t, nil)
	root := filepath.Join(p.dir, fmt.Sprintf("root%d", i))
	require.NoError(t, os.MkdirAll(root, 0o755))
	words := slices.Concat(
		[]string{"sh", filepath.Join(p.dir, "pod"), "outside", root, fmt.Sprintf("%s-%d", p.name, i), p.dir, binary, cmp.Or(p.program, self)},
		[]string{fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i)}, p.env, more, []string{"--"}, p.command)
	on := p.Command(p.Hosts()[i], words...)
	r.Path, r.Args = on.Path, on.Args
	r.Stderr = nil
	errs, err := r.StderrPipe()
	require.NoError(t, err)
	stdout := r.lines(t)
	require.NoError(t, r.Start())
	return &pod{r, stdout, bufio.NewReader(errs)}
}

// end waits for the end of a pod, and returns its exit code and the output that was not read yet.
func (p *pod) end(t *testing.T) result {
	t.Helper()
	got := result{out: rest(p.stdout), err: rest(p.stderr)}
	got.code = p.wait(t)
	return got
}

// first returns the process ID of process 1 in pod i.
func (p *podSet) first(t *testing.T, i int) int {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	found, depth := 0, 0
	for _, name := range names {
		env, e1 := os.ReadFile(name)
		status, e2 := os.ReadFile(filepath.Join(filepath.Dir(name), "status"))
		_, numbers, _ := strings.Cut(string(status), "\nNSpid:")
		numbers, _, _ = strings.Cut(numbers, "\n")
		mine := strings.HasPrefix(string(env), fmt.Sprintf("JOB_COMPLETION_INDEX=%d\x00", i)) && strings.Contains(string(env), p.name)
		// gorun may have made another PID namespace within the namespace of the pod. Process 1 of the pod is
		// in the outer namespace.
		if n := len(strings.Fields(numbers)); e1 == nil && e2 == nil && mine && strings.HasSuffix(numbers, "\t1") && (found == 0 || n < depth) {
			found, err = strconv.Atoi(filepath.Base(filepath.Dir(name)))
			depth = n
			require.NoError(t, err)
		}
	}
	require.NotZero(t, found, "pod %d", i)
	return found
}

// said reads lines until one contains the text want, and returns what was read.
func said(t *testing.T, r *bufio.Reader, want string) string {
	t.Helper()
	var all strings.Builder
	for {
		line, err := r.ReadString('\n')
		all.WriteString(line)
		if strings.Contains(line, want) {
			return all.String()
		}
		require.NoError(t, err, "%q to come, after\n%s", want, all.String())
	}
}

// rest returns the bytes that can be read until the end.
func rest(r *bufio.Reader) string {
	var all strings.Builder
	_, _ = r.WriteTo(&all)
	return all.String()
}

// The pods of a manifest form one job, for any order of their starts. The log of the first pod has the output
// of all ranks.
func TestPodsOfTheManifestAreOneJob(t *testing.T) {
	p := podsOf(t, 3, "-np", "5", "-ppn", "2", "-l", "prog", helperPrefix+"book")
	others := []*pod{p.start(t, 2), p.start(t, 1)}
	for _, o := range others {
		require.Contains(t, said(t, o.stderr, "waits for the first one"), "connection refused")
	}
	root := p.start(t, 0).end(t)
	require.Zero(t, root.code, root.err)
	for _, o := range others {
		require.Equal(t, result{}, o.end(t), "the log of the first pod has all")
	}
	require.Contains(t, root.err, fmt.Sprintf("taking the pods of an Indexed Job (GORUN_PODS, GORUN_POD_ROOT): 6 slots on 3 hosts, %[1]s-0:2 %[1]s-1:2 %[1]s-2:2; agents connect to this one", p.name))
	for rank := range 5 {
		require.Contains(t, root.out, fmt.Sprintf("[%d] %[2]s-00=0 %[2]s-01=0 %[2]s-10=1 %[2]s-11=1 %[2]s-20=2\n", rank, p.name))
	}
	empty(t, p.Cluster)
}

// Ranks have the environment of their own pod, and variables of -x arrive unchanged.
func TestPodsHaveTheirOwnEnvironment(t *testing.T) {
	text := `it's "$HOME" $(HOME) $$`
	t.Setenv("TEXT", text)
	p := podsOf(t, 2, "-np", "2", "-x", "TEXT", "prog", helperPrefix+"environ", "JOB_COMPLETION_INDEX", "TEXT", "OWN")
	other := p.start(t, 1, "OWN=1")
	root := p.start(t, 0, "OWN=0").end(t)
	require.Zero(t, root.code, root.err)
	require.Zero(t, other.end(t).code)
	require.ElementsMatch(t, []string{"0|" + text + "|0", "1|" + text + "|1"}, strings.Split(strings.TrimSpace(root.out), "\n"))
	empty(t, p.Cluster)
}

// Kubernetes ends a pod with SIGTERM to its process 1. This signal ends the job, even while pods wait for
// each other.
func TestPodsObeySIGTERM(t *testing.T) {
	p := podsOf(t, 2, "-np", "2", "prog", helperPrefix+"listen")
	for i := range p.Hosts() {
		other, root := p.start(t, 1), p.start(t, 0)
		awaitLines(t, root.stdout, 2, "waiting")
		require.NoError(t, unix.Kill(p.first(t, i), unix.SIGTERM))
		got := root.end(t)
		require.Equal(t, 143, got.code, got.err)
		if i > 0 {
			require.Contains(t, got.err, "first failure: rank 1")
		}
		require.Zero(t, other.end(t).code, "the agent has ended in order")
		empty(t, p.Cluster)
	}
	// A pod that still waits for the other pods ends, too.
	waiting := p.start(t, 1)
	said(t, waiting.stderr, "waits for the first one")
	require.NoError(t, unix.Kill(p.first(t, 1), unix.SIGTERM))
	require.NotZero(t, waiting.end(t).code)
	root := p.start(t, 0)
	said(t, root.stderr, "agents connect")
	require.NoError(t, unix.Kill(p.first(t, 0), unix.SIGTERM))
	require.NotZero(t, root.end(t).code)
	empty(t, p.Cluster)
}

// If a container starts again while the first pod waits for other pods, the container takes its earlier
// place.
func TestPodsAreStartedAgain(t *testing.T) {
	p := podsOf(t, 3, "-np", "3", "-v", "prog", helperPrefix+"join")
	root, early := p.start(t, 0), p.start(t, 1)
	said(t, root.stderr, p.name+"-1 has come")
	require.NoError(t, unix.Kill(p.first(t, 1), unix.SIGKILL))
	require.NotZero(t, early.end(t).code)
	again := p.start(t, 1)
	said(t, root.stderr, p.name+"-1 has come")
	last := p.start(t, 2)
	got := root.end(t)
	require.Zero(t, got.code, got.err)
	require.Equal(t, 3, strings.Count(got.out, " of 3\n"), got.out)
	require.Zero(t, again.end(t).code)
	require.Zero(t, last.end(t).code)
	empty(t, p.Cluster)
}

// A pod that does not know the secret, or belongs to an earlier attempt, cannot join the job, and
// the errors name the cause.
func TestPodsThatDoNotBelongToTheJob(t *testing.T) {
	p := podsOf(t, 2, "-np", "2", "-answer-within", "1s", "prog", helperPrefix+"join")
	root, stale := p.start(t, 0, "GORUN_ATTEMPT=1"), p.start(t, 1, "GORUN_ATTEMPT=0")
	got := root.end(t)
	require.Equal(t, 125, got.code)
	require.Contains(t, got.err, "1 of 2 pods did not come within 1s: "+p.name+"-1: are they scheduled")
	got = stale.end(t)
	require.Equal(t, 125, got.code)
	require.Contains(t, got.err, "the first pod, "+p.name+"-0."+p.name+" at port 29400, was not reached in time")
	for name, secret := range map[string]string{"no secret": "", "a short one": "secret"} {
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, "secret"), []byte(secret), 0o600), name)
		for i := range 2 {
			got = p.start(t, i).end(t)
			require.Equal(t, 125, got.code, name)
			require.Contains(t, got.err, "a secret has at least 16 bytes")
		}
	}
	got = p.start(t, 1, "GORUN_SECRET_FILE=/no/secret").end(t)
	require.Equal(t, 125, got.code)
	require.Contains(t, got.err, "mount a Secret there, or at GORUN_SECRET_FILE")
	got = p.start(t, 0, "GORUN_PODS=").end(t)
	require.Equal(t, 125, got.code)
	require.Contains(t, got.err, "JOB_COMPLETION_INDEX=0: this is one of the pods of an Indexed Job")
	empty(t, p.Cluster)
}

// Pods with the variables of torchrun, which Kubeflow's Trainer sets, form one job.
func TestPodsOfTrainer(t *testing.T) {
	c := nscluster.Start(t, 2)
	p := &podSet{Cluster: c, dir: t.TempDir(), name: "train-node-0", command: []string{"gorun", "-l", "prog", helperPrefix + "book"}}
	p.env = []string{"PATH=/bin", "PET_NNODES=2", "PET_NPROC_PER_NODE=2", "PET_MASTER_ADDR=train-node-0-0.train-node-0", "PET_MASTER_PORT=29500"}
	p.prepare(t, "0123456789abcdef")
	other := p.start(t, 1, "PET_NODE_RANK=1")
	root := p.start(t, 0, "PET_NODE_RANK=0").end(t)
	require.Zero(t, root.code, root.err)
	require.Zero(t, other.end(t).code)
	for rank := range 4 {
		require.Contains(t, root.out, fmt.Sprintf("[%d] train-node-0-00=0 train-node-0-01=0 train-node-0-10=1 train-node-0-11=1\n", rank))
	}
	p.env[1] = "PET_NNODES=1"
	root = p.start(t, 0, "PET_NODE_RANK=0").end(t)
	require.Zero(t, root.code, root.err)
	require.Equal(t, 2, strings.Count(root.out, "localhost0=0 localhost1=0\n"), root.out)
	empty(t, p.Cluster)
}
