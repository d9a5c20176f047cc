package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/allocation"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// Values of -stdin.
const (
	stdinFirst = "0"
	stdinAll   = "all"
	stdinNone  = "none"
)

const (
	graceDefault = 5 * time.Second
	// ranksMax bounds -n, so that a typing error does not exhaust the machine.
	ranksMax = 1 << 16
)

// options is the parsed command line.
type options struct {
	apps []app

	label       bool
	prefix      string
	timestamp   bool
	outputDir   string
	mergeStderr bool
	stdin       string

	timeout   time.Duration // 0 for none
	grace     time.Duration
	onFailure string
	restarts  int           // how many restarts the job may have, with respawn
	stall     time.Duration // 0 for never

	onDeadlock string

	hosts      hostList               // nil for this machine alone
	took       string                 // describes the allocation that the hosts are from, "" for none
	asked      int                    // number of ranks that the allocation is for, 0 for one rank per slot
	rsh        []string               // nil for rshDefault
	hidden     func(name string) bool // variables that the command of -rsh must not inherit; nil for none
	groups     map[string]string      // arguments of rsh by host; nil if rsh is not the command of an allocation
	pods       *allocation.Pods       // the pods that run the agents, including this gorun's pod; nil without pods
	agentPath  string                 // path of gorun on the hosts, "" for the path of this executable
	copies     bool                   // copy gorun and the programs to the hosts
	answer     time.Duration
	net        string
	transport  string
	spares     int
	rdmaDevice string
	encrypt    string // a value of bootstrap.EnvEncrypt, "" for the default

	manifest bool
	image    string

	race       bool
	buildFlags []string

	policy         placement.Policy
	dealt          []int // index of each rank's host in hosts; nil without hosts
	bindTo         placement.Kind
	reportBindings bool
	dryRun         bool
	report         string
	explain        bool
	reproducible   bool
	check          bool
	verbose        bool
	completion     string // the shell of -completion, "" without it
	man            bool
	version        bool
	help           bool
}

// informs reports whether gorun only prints information about itself and runs no job.
func (o *options) informs() bool { return o.help || o.version || o.man || o.completion != "" }

// app is one program of a job: gorun -n 1 app : -n 3 app.
type app struct {
	ranks   int // 0 until -n is read, or the default is known
	program string
	args    []string
	env     []string // NAME=VALUE from -x
	wdir    string
	goCode  bool // gorun has to build the program; known from job.launch on
}

// size returns the number of ranks of the job.
func (o *options) size() int {
	n := 0
	for _, a := range o.apps {
		n += a.ranks
	}
	return n
}

// flag is one flag of the command line.
type flag struct {
	names []string // without the dash, the usual one first
	value string   // placeholder of the value in the help, "" for a flag without a value
	help  string
	set   func(o *options, a *app, value string) error
}

// flagGroup is a group of flags that the help lists under one title.
type flagGroup struct {
	title string
	flags []flag
}

// flagGroups lists every flag in the order of the help.
var flagGroups = []flagGroup{
	{"programs and ranks", []flag{
		{[]string{"np", "n"}, "N", "start N ranks (default 1, with hosts one per slot)", setRanks},
		{[]string{"x"}, "VAR[=V]", "pass an environment variable to this program, or set it to V (visible to all users in ps)", setEnv},
		{[]string{"wdir"}, "DIR", "run this program in DIR", func(_ *options, a *app, v string) error { return setPath(&a.wdir, v) }},
		{[]string{"race"}, "", "build Go code with the race detector, which needs a C compiler", func(o *options, _ *app, _ string) error { o.race = true; return nil }},
		{[]string{"build-flags"}, "FLAGS", "flags for go build, as in -build-flags '-tags debug -trimpath'", setBuildFlags},
	}},
	{"hosts", []flag{
		{[]string{"host"}, "H:N,...", "run on these hosts, with N slots each, filled in order (default 1)", setHosts},
		{[]string{"hostfile"}, "F", "hosts from a file, in addition to those of -host: lines \"host slots=N\" or \"host:N\"", setHostFile},
		{[]string{"rsh"}, "CMD", "command that reaches a host; the host replaces %h in CMD or follows CMD (default ssh)", setRsh},
		{[]string{"agent-path"}, "F", "path of gorun on the hosts (default: the path of this gorun)", func(o *options, _ *app, v string) error { return setPath(&o.agentPath, v) }},
		{[]string{"copy"}, "", "send gorun and the program to a temporary directory of each host that lacks them, removed at the end", func(o *options, _ *app, _ string) error { o.copies = true; return nil }},
		{[]string{"answer-within"}, "D", "how long a host may take to answer (default 30s)", func(o *options, _ *app, v string) error { return setDuration(&o.answer, v) }},
	}},
	{"containers", []flag{
		{[]string{flagManifest}, "", "print a manifest that runs this job in Kubernetes, for kubectl apply -f -", func(o *options, _ *app, _ string) error { o.manifest = true; return nil }},
		{[]string{flagImage}, "I", "the image of -k8s-manifest, with gorun in its PATH and the program", func(o *options, _ *app, v string) error { o.image = v; return nil }},
	}},
	{"placement", []flag{
		{[]string{"ppn"}, "N", "start N ranks on each host, whatever its slots (the same as -map-by ppr:N)", setPerHost},
		{[]string{"map-by"}, "slot|node|ppr:N", "fill the hosts' slots in order, give each host a rank in turn, or N ranks to each host (default slot)", setMapBy},
		{[]string{"bind-to"}, "none|core|numa", "bind each rank to a processor, or to the processors and the memory of a NUMA node (default none)", setBindTo},
		{[]string{"report-bindings"}, "", "print the processors that each rank may use", func(o *options, _ *app, _ string) error { o.reportBindings = true; return nil }},
		{[]string{"dry-run"}, "", "reach the hosts and print which ranks would run where, with which processors; nothing is built or run", func(o *options, _ *app, _ string) error { o.dryRun = true; return nil }},
	}},
	{"communication between ranks", []flag{
		{[]string{"net"}, "CIDR|IFACE", "the network that ranks of different hosts use", setNet},
		{[]string{"transport"}, "shm|rdma|auto", "transport between ranks (default auto: shm on a host, rdma between hosts, by adapters or TCP)", setTransport},
		{[]string{"encrypt"}, "[=yes|no|auto]", "encrypt connections between hosts by TLS, over TCP only (default auto: if a host has a public address)", setEncrypt},
		{[]string{"rdma-device"}, "NAME|none|auto", "RDMA adapter of each host: name, interface or address (default auto: those that work, then TCP)", setRDMADevice},
	}},
	{"input and output", []flag{
		{[]string{"l", "tag-output"}, "", "start every line with the rank: \"[3] text\"; if a line ends with a backslash, its rest follows later", func(o *options, _ *app, _ string) error { o.label = true; return nil }},
		{[]string{"prefix"}, "PATTERN", "start every line with PATTERN: %r rank, %l local rank, %h host, %p pid, %s stream, %t time, %% percent", setPrefix},
		{[]string{"timestamp"}, "", "start every line with the time", func(o *options, _ *app, _ string) error { o.timestamp = true; return nil }},
		{[]string{"output-dir"}, "DIR", "write the output of rank N to DIR/rank.N.out and DIR/rank.N.err", func(o *options, _ *app, v string) error { return setPath(&o.outputDir, v) }},
		{[]string{"merge-stderr"}, "", "join standard error to standard output", func(o *options, _ *app, _ string) error { o.mergeStderr = true; return nil }},
		{[]string{"stdin"}, "N|all|none", "which rank gets standard input (default 0; others read end of file); all: at most 4 MiB ahead of the slowest", setStdin},
	}},
	{"end of the job", []flag{
		{[]string{"timeout"}, "D", "after D (90s, 5m, or seconds) print the operation that blocks each rank and end the job: exit code 124", func(o *options, _ *app, v string) error { return setDuration(&o.timeout, v) }},
		{[]string{"grace"}, "D", "time between asking the ranks to end (SIGTERM) and SIGKILL (default 5s)", func(o *options, _ *app, v string) error { return setDuration(&o.grace, v) }},
		{[]string{"on-deadlock"}, "end|report|ignore", "on a deadlock: report it and end the job with exit code 86, only report it, or do nothing (default end)", setOnDeadlock},
		{[]string{"stall"}, "D|off", "report once what the ranks do when nothing has moved for D (default 60s)", setStall},
		{[]string{"on-failure"}, "kill|continue|respawn[=N]", "when a rank fails: kill the others (default), continue, or restart it (N times per job, default 3)", setOnFailure},
		{[]string{"spares"}, "K", "with -on-failure respawn: keep K more processes of each program, which take the places of lost ranks at once", setSpares},
	}},
	{"diagnosis", []flag{
		{[]string{"report"}, "F.json", "write a report of the job to F.json", func(o *options, _ *app, v string) error { return setPath(&o.report, v) }},
		{[]string{"explain"}, "", "print at the end the transport of each pair and why, refused connections, and the algorithms of collectives", func(o *options, _ *app, _ string) error { o.explain = true; return nil }},
		{[]string{"reproducible"}, "", "combine reductions, except those of values, from left to right: the same bits everywhere; slower between nodes", func(o *options, _ *app, _ string) error { o.reproducible = true; return nil }},
		{[]string{"check"}, "", "look for requests, buffers and communicators used in a wrong way, and make every send synchronous", func(o *options, _ *app, _ string) error { o.check = true; return nil }},
		{[]string{"v"}, "", "print what gorun does", func(o *options, _ *app, _ string) error { o.verbose = true; return nil }},
	}},
	{"about gorun", []flag{
		{[]string{"completion"}, "bash", "print a script that completes gorun's command lines in a shell: source <(gorun -completion bash)", setCompletion},
		{[]string{"man"}, "", "print the manual page: gorun -man | man -l -", func(o *options, _ *app, _ string) error { o.man = true; return nil }},
		{[]string{"version"}, "", "print the version", func(o *options, _ *app, _ string) error { o.version = true; return nil }},
		{[]string{"h", "help"}, "", "print this help", func(o *options, _ *app, _ string) error { o.help = true; return nil }},
	}},
}

// flags lists the flags of all groups.
var flags = func() []flag {
	var all []flag
	for _, g := range flagGroups {
		all = append(all, g.flags...)
	}
	return all
}()

// parseOptions reads a command line without its first word, the name of gorun. getenv returns the value of an
// environment variable, for -x VAR and for the hosts of an allocation.
func parseOptions(args []string, getenv func(string) (string, bool)) (*options, error) {
	o := &options{grace: graceDefault, stall: stallDefault, stdin: stdinFirst, bindTo: placement.None}
	o.onFailure, o.onDeadlock = bootstrap.OnFailureKill, deadlockEnd
	for {
		rest, err := parseApp(o, args, getenv)
		if err != nil || o.informs() {
			return o, err
		}
		if rest == nil {
			break
		}
		args = rest
	}
	if o.image != "" && !o.manifest {
		return o, fmt.Errorf("-%s is for -%s", flagImage, flagManifest)
	}
	value := func(name string) string {
		v, ok := getenv(name)
		if !ok {
			return ""
		}
		return v
	}
	steps := []func() error{func() error { return o.findHosts(value) }, o.deal, o.mayRespawn, o.mayRead}
	if o.manifest { // the job runs elsewhere, and therefore gorun ignores the hosts of this environment
		steps = []func() error{o.forPods, o.mayRespawn, o.mayRead}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return o, err
		}
	}
	return o, nil
}

// parseApp reads the flags, the program and the arguments up to ":" or the end. It returns the words after
// the ":", or nil at the end.
func parseApp(o *options, args []string, getenv func(string) (string, bool)) ([]string, error) {
	a := app{}
	literal := false // after "--" a ":" is an argument like any other
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" {
		if args[0] == "--" {
			args, literal = args[1:], true
			break
		}
		rest, err := parseFlag(o, &a, args)
		if err != nil || o.informs() {
			return nil, err
		}
		args = rest
	}
	end := len(args)
	if i := slices.Index(args, ":"); i >= 0 && !literal {
		end = i
	}
	if end == 0 {
		return nil, errors.New("no program to run (gorun -h prints the flags and examples)")
	}
	a.program, a.args = args[0], args[1:end]
	for i, v := range a.env {
		if strings.Contains(v, "=") {
			continue
		}
		value, ok := getenv(v)
		if !ok {
			return nil, fmt.Errorf("-x %s: the variable is not set", v)
		}
		a.env[i] = v + "=" + value
	}
	o.apps = append(o.apps, a)
	if end == len(args) {
		return nil, nil
	}
	return args[end+1:], nil
}

// separator returns the text between a flag and its value in the help.
func (f flag) separator() string {
	if f.optional() {
		return ""
	}
	return " "
}

// optional reports whether the value of the flag may be left out. If the value is given, it follows an =.
func (f flag) optional() bool { return strings.HasPrefix(f.value, "[=") }

// choices returns the values of a flag whose placeholder lists them.
func (f flag) choices() []string {
	return strings.Split(strings.TrimSuffix(strings.TrimPrefix(f.value, "[="), "]"), "|")
}

// parseFlag reads the flag at the start of args and returns the words after the flag and its value.
func parseFlag(o *options, a *app, args []string) ([]string, error) {
	shown := args[0]
	name := strings.TrimPrefix(strings.TrimPrefix(shown, "-"), "-")
	name, value, given := strings.Cut(name, "=")
	args = args[1:]
	i := slices.IndexFunc(flags, func(f flag) bool { return slices.Contains(f.names, name) })
	if i < 0 {
		return nil, unknownFlag(name)
	}
	f := flags[i]
	switch {
	case f.value == "" && given:
		return nil, fmt.Errorf("-%s takes no value", name)
	case f.value != "" && !given && !f.optional():
		if len(args) == 0 {
			return nil, fmt.Errorf("-%s needs a value: -%s %s", name, name, f.value)
		}
		value, args = args[0], args[1:]
	case f.optional() && !given && len(args) > 0 && slices.Contains(f.choices(), args[0]):
		return nil, fmt.Errorf("-%s %s: write -%s=%s (%s would be the program)", name, args[0], name, args[0], args[0])
	}
	if err := f.set(o, a, value); err != nil {
		return nil, fmt.Errorf("-%s %s: %w", name, cmp.Or(value, `""`), err)
	}
	return args, nil
}

func setRanks(_ *options, a *app, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > ranksMax {
		return fmt.Errorf("want a number of ranks from 1 to %d", ranksMax)
	}
	a.ranks = n
	return nil
}

func setEnv(_ *options, a *app, v string) error {
	if name, _, _ := strings.Cut(v, "="); name == "" || strings.ContainsAny(name, " \t\n") {
		return errors.New("want VAR or VAR=VALUE, and another -x for each further variable")
	}
	a.env = append(a.env, v)
	return nil
}

func setPrefix(o *options, _ *app, v string) error {
	for i := 0; i < len(v); i++ {
		if v[i] != '%' {
			continue
		}
		i++
		if i == len(v) || !strings.ContainsRune("rlhpst%", rune(v[i])) {
			return errors.New("after % want one of r, l, h, p, s, t, %")
		}
	}
	o.prefix = v
	return nil
}

func setStdin(o *options, _ *app, v string) error {
	if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < ranksMax {
		o.stdin = strconv.Itoa(n)
		return nil
	}
	if setOneOf(&o.stdin, v, stdinAll, stdinNone) != nil {
		return errors.New("want the number of a rank, all, or none")
	}
	return nil
}

// inputRank returns the only rank that gets standard input. It returns -1 if all ranks or no rank get
// standard input.
func (o *options) inputRank() int {
	n, err := strconv.Atoi(o.stdin)
	if err != nil {
		return -1
	}
	return n
}

// mayRead returns an error if -stdin names a rank that the job does not have.
func (o *options) mayRead() error {
	if n := o.size(); o.inputRank() >= n {
		return fmt.Errorf("-stdin %s: there are ranks 0 to %d", o.stdin, n-1)
	}
	return nil
}

func setBuildFlags(o *options, _ *app, v string) error {
	words, err := splitCommand(v)
	if err != nil {
		return err
	}
	for _, w := range words {
		if w == "-o" || strings.HasPrefix(w, "-o=") || strings.HasPrefix(w, "--o=") || w == "--o" {
			return errors.New("gorun itself chooses the output file")
		}
	}
	o.buildFlags = append(o.buildFlags, words...)
	return nil
}

func setCompletion(o *options, _ *app, v string) error { return setOneOf(&o.completion, v, "bash") }
