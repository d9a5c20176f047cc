package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

func parse(line string) (*options, error) {
	return parseOptions(strings.Fields(line), func(name string) (string, bool) {
		return "value of " + name, name == "SET"
	})
}

// A command line without flags gives the documented defaults.
func TestOptionDefaults(t *testing.T) {
	o, err := parse("prog")
	require.NoError(t, err)
	require.Equal(t, &options{
		apps: []app{{ranks: 1, program: "prog", args: []string{}}}, stdin: "0", grace: 5 * time.Second,
		onFailure: bootstrap.OnFailureKill, bindTo: "none", stall: time.Minute, onDeadlock: "end",
	}, o)
}

// Flags of the job are parsed, with one dash or two and with or without an equals sign, up to the program's
// name.
func TestOptionsOfTheJob(t *testing.T) {
	o, err := parse("--np=4 -l -prefix %r: -timestamp -output-dir d -merge-stderr -stdin all -timeout 90 -grace=1m " +
		"-on-failure continue -stall off -on-deadlock report -bind-to core -report-bindings -report f.json -explain -reproducible -v prog -np 9")
	require.NoError(t, err)
	require.Equal(t, &options{
		apps:  []app{{ranks: 4, program: "prog", args: []string{"-np", "9"}}},
		label: true, prefix: "%r:", timestamp: true, outputDir: "d", mergeStderr: true, stdin: "all",
		timeout: 90 * time.Second, grace: time.Minute, onFailure: bootstrap.OnFailureContinue,
		onDeadlock: "report", bindTo: "core", reportBindings: true, report: "f.json", explain: true, reproducible: true, verbose: true,
	}, o)
}

// Ranks are placed by slots, by node or with -ppn. With -ppn, the slots of the hosts do not count. The default
// of -np is then the number of ranks that all hosts together take.
func TestPlacementOptions(t *testing.T) {
	for line, want := range map[string][]int{
		"-host h1:2,h2 a":                     {0, 0, 1},
		"-host h1:2,h2 -map-by node a":        {0, 1, 0},
		"-host h1:4,h2 -ppn 2 a":              {0, 0, 1, 1},
		"-host h1:4,h2 -map-by ppr:2:node a":  {0, 0, 1, 1},
		"-map-by node -ppn 2 -host h1:4,h2 a": {0, 1, 0, 1},
		"-ppn 2 -map-by node -host h1:4,h2 a": {0, 1, 0, 1},
		"-host h1,h2 -ppn 2 -n 1 a : -n 2 b":  {0, 0, 1},
		"-host h1,h2 -np 5 a":                 {0, 1, 0, 1, 0},
	} {
		o, err := parse(line)
		require.NoError(t, err, line)
		require.Equal(t, want, o.dealt, line)
		require.Equal(t, len(want), o.size(), line)
	}
	o, err := parse("-ppn 3 a")
	require.NoError(t, err)
	require.Equal(t, 3, o.size())
	require.Nil(t, o.dealt)
}

// Programs are separated by a colon and have flags of their own. After --, all words belong to the program.
func TestSeveralPrograms(t *testing.T) {
	o, err := parse("-n 1 -x A=1 -x SET -wdir /tmp a x : -np 3 -- b : -y : c")
	require.NoError(t, err)
	require.Equal(t, []app{
		{ranks: 1, program: "a", args: []string{"x"}, env: []string{"A=1", "SET=value of SET"}, wdir: "/tmp"},
		{ranks: 3, program: "b", args: []string{":", "-y", ":", "c"}},
	}, o.apps)
	require.Equal(t, 4, o.size())
	o, err = parse("a : -l b : -n 2 c")
	require.NoError(t, err)
	require.Equal(t, 4, o.size())
	require.True(t, o.label)
}

// Flags that only print information about gorun need no program.
func TestHelpAndVersionNeedNoProgram(t *testing.T) {
	for _, line := range []string{"-h", "--help", "-np 3 -h", "-version", "a : -version", "-man", "-completion bash"} {
		_, err := parse(line)
		require.NoError(t, err, line)
	}
}

// The error for a wrong flag or value names the expected form. For a flag of another launcher, it names the
// corresponding flag of gorun.
func TestOptionErrors(t *testing.T) {
	for line, want := range map[string]string{
		"":                "no program",
		"-np 2":           "no program",
		": a":             "no program",
		"a :":             "no program",
		"a : : b":         "no program",
		"--":              "no program",
		"-np":             "-np needs a value: -np N",
		"-np x a":         "-np x: want a number",
		"-np 99999999 a":  "want a number of ranks",
		"-np 65536 a : b": "65537 ranks",
		"-l=3 a":          "-l takes no value",
		"-stdin some a":   "want the number of a rank, all, or none",
		"-stdin -1 a":     "want the number of a rank, all, or none",
		"-stdin 1 a":      "-stdin 1: there are ranks 0 to 0",
		"-k8s-manifest -image i -np 2 -stdin 2 a":           "-stdin 2: there are ranks 0 to 1",
		"-k8s-manifest -image i -spares 1 a":                "-spares is for -on-failure respawn",
		"-image i a":                                        "-image is for -k8s-manifest",
		"-k8s-manifest -image i -race a":                    "the pods build no program: leave out -race and -build-flags",
		"-k8s-manifest -image i -build-flags -tags=debug a": "the pods build no program: leave out -race and -build-flags",
		"-completion fish a":                                "want one of bash",
		"-build-flags 'x a":                                 "a quote is not closed",
		"-build-flags -o=x a":                               "gorun itself chooses the output file",
		"-bind-to socket a":                                 "want one of none, core, numa",
		"-on-failure pray a":                                "want one of kill, continue",
		"-on-deadlock pray a":                               "want one of end, report, ignore",
		"-stall never a":                                    "want a duration",
		"-map-by core a":                                    "-map-by core: want slot, node or ppr:N",
		"-map-by ppr:0 a":                                   "after ppr: want a number of ranks per host from 1",
		"-ppn none a":                                       "-ppn none: want a number of ranks per host",
		"-ppn 2 -map-by ppr:3 a":                            "2 ranks per host were asked for before",
		"-ppn 2 -np 3 a":                                    "3 ranks, and 1 hosts with 2 ranks each take 2",
		"-N 2 a":                                            "use -ppn N",
		"-timeout soon a":                                   "want a duration",
		"-timeout 0 a":                                      "want a duration",
		"-timeout 1h30 a":                                   "want a duration",
		"-grace -1s a":                                      "want a duration",
		"-x UNSET a":                                        "the variable is not set",
		"-x =1 a":                                           "want VAR or VAR=VALUE",
		"-transport tcp a":                                  "rdma is iWARP over TCP",
		"-H h a":                                            "use -host",
		"-prefix %x a":                                      "after % want",
		"-prefix x% a":                                      "after % want",
		"-np4 a":                                            "did you mean -np 4?",
		"-n16 a":                                            "did you mean -np 16?",
		"-timout 3 a":                                       "did you mean -timeout?",
		"-report-binding a":                                 "did you mean -report-bindings?",
		"-oversubscribe a":                                  "more ranks than processors is normal",
		"--allow-run-as-root a":                             "root is normal",
		"-machinefile h a":                                  "use -hostfile",
		"-genv A 1 a":                                       "use -x",
		"--completely-unknown a":                            "gorun -h",
	} {
		_, err := parse(line)
		require.ErrorContains(t, err, want, line)
	}
	_, err := parseOptions([]string{"-x", "A B=1", "a"}, func(string) (string, bool) { return "", false })
	require.ErrorContains(t, err, "-x A B=1: want VAR or VAR=VALUE, and another -x")
}

// distance returns the edit distance of two words.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"timeout", "timeout", 0}, {"ab", "ba", 2}} {
		require.Equal(t, c.want, distance(c.a, c.b), c)
		require.Equal(t, c.want, distance(c.b, c.a), c)
	}
}

// The text of -h has every flag, in lines of at most 140 bytes.
func TestUsageNamesEveryFlag(t *testing.T) {
	text := usage()
	for _, f := range flags {
		for _, n := range f.names {
			require.Contains(t, text, "-"+n)
		}
	}
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len(line), 140, line)
	}
}

// TestUsageNamesEverySetting checks that the text of -h names every variable that the documentation
// of package runtime explains.
func TestUsageNamesEverySetting(t *testing.T) {
	explained, err := os.ReadFile("../../runtime/doc.go")
	require.NoError(t, err)
	names := regexp.MustCompile(`(?m)^//\t(GORUN_[A-Z_]+)`).FindAllSubmatch(explained, -1)
	require.Greater(t, len(names), 8)
	for _, name := range names {
		require.Regexp(t, string(name[1])+`\b`, usage())
	}
}

// lastWins keeps the last of several assignments to a variable.
func TestLastWins(t *testing.T) {
	require.Equal(t, []string{"B=2", "A=3", "C="}, lastWins([]string{"A=1", "B=2", "A=3", "C="}))
}

// lastLines returns the last lines of a text without the newlines at its end. It leaves out a line whose
// start was cut off.
func TestLastLines(t *testing.T) {
	require.Empty(t, lastLines(nil, 3))
	require.Empty(t, lastLines([]byte("\n\n"), 3))
	require.Equal(t, []string{"b", "", "c"}, lastLines([]byte("a\nb\n\nc\n"), 3))
	cut := append(bytes1(tailBytesMax-4), "\nend"...)
	require.Equal(t, []string{"end"}, lastLines(cut, 3))
}

func bytes1(n int) []byte { return []byte(strings.Repeat("x", n)) }

// FuzzOptions checks that no command line makes the parser panic, and that accepted formats of tags
// can be used.
func FuzzOptions(f *testing.F) {
	f.Add("-np 4 -l prog x : -n 2 -x A=1 -- b : c")
	f.Add("-prefix %r%%%t -timeout 3 a")
	f.Fuzz(func(t *testing.T, line string) {
		o, err := parse(line)
		if err == nil && !o.informs() {
			require.NotEmpty(t, o.apps)
			newLayout(o, o.size()).tag(origin{pid: 1}, streamOut)
		}
	})
}
