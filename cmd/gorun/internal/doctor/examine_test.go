package doctor_test

import (
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/doctor"
)

// patience is a timeout that is longer than the time of any answer.
const patience = time.Minute

// TestMain makes the test binary serve as gorun on a host if its first argument is serve.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		if err := doctor.Serve(os.Stdin, os.Stdout, doctor.This(1), os.Args[2], strings.Join(os.Args[3:], "")); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// host returns a host whose gorun has the given version.
func host(t *testing.T, name, version string, more ...string) *doctor.Host {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return &doctor.Host{Name: name, Line: append([]string{self, "serve", version}, more...), Gorun: "/x/gorun", By: "ssh " + name}
}

// lines returns the findings about a host, one per line.
func lines(h *doctor.Host) string {
	var b strings.Builder
	for _, f := range h.Findings {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

// The doctor reports a host whose gorun has a different version. It still examines the clock and the network
// of that host.
func TestHostsOfDifferentVersions(t *testing.T) {
	a, b := host(t, "a", "v1"), host(t, "b", "v2")
	doctor.Examine([]*doctor.Host{a, b}, "v1", patience)
	require.Contains(t, lines(a), "ok    version       gorun v1\n")
	require.Contains(t, lines(b), "FAIL  version       its gorun is v2, this one is v1: copy this gorun there")
	require.Contains(t, lines(b), "ok    clock ")
	if len(a.Report.Addresses) > 0 {
		require.Contains(t, lines(a), "ok    network       reaches b at "+b.Report.Addresses[0].At.Addr().String())
	}
}

// A host without an address that matches -net gets a failure. Each host that cannot reach that host also gets
// a failure.
func TestHostWithoutANetwork(t *testing.T) {
	a, b := host(t, "a", "v1", "203.0.113.9"), host(t, "b", "v1")
	doctor.Examine([]*doctor.Host{a, b}, "v1", patience)
	require.Contains(t, lines(a), "FAIL  network       no interface that is up fits -net 203.0.113.9")
	require.Contains(t, lines(b), "FAIL  network       host a has no address that others can reach")
}

// If a host does not answer in the protocol of gorun, the finding has the cause and the text that the host
// printed instead.
func TestHostsThatDoNotAnswer(t *testing.T) {
	t.Parallel() // the test waits most of the time
	for name, c := range map[string]struct {
		script, want string
		patience     time.Duration
	}{
		"unreachable": {"echo no route >&2; exit 255", "FAIL  reach         it cannot be reached: exit status 255: try by hand: ssh b\n  | no route\n", patience},
		"no gorun":    {"exit 127", "there is no gorun at /x/gorun (exit status 127)", patience},
		"old gorun":   {"echo unknown flag; exit 125", `something else answers in place of gorun, or another version of it: "unknown flag"`, patience},
		"ends well":   {"exit 0", "it cannot be reached: the connection ended", patience},
		"no report":   {"echo gorun-doctor v1", "its report: EOF", patience},
		"odd report":  {"echo gorun-doctor v1; echo hello; cat", "its report: invalid character", patience},
		"half":        {"printf gorun-doctor", "something else answers", patience},
		"never ends":  {"echo welcome; exec sleep 1000", `something else answers in place of gorun, or another version of it: "welcome"`, patience},
		"silent":      {"exec sleep 1000", "no answer within 100ms: try by hand: ssh b", 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			b := &doctor.Host{Name: "b", Line: []string{"sh", "-c", c.script}, Gorun: "/x/gorun", By: "ssh b"}
			doctor.Examine([]*doctor.Host{b}, "v1", c.patience)
			require.Contains(t, lines(b), c.want)
			require.Nil(t, b.Report)
		})
	}
	b := &doctor.Host{Name: "b", Line: []string{"/no/such/rsh"}, By: "ssh b"}
	doctor.Examine([]*doctor.Host{b}, "v1", patience)
	require.Contains(t, lines(b), "no such file or directory")
}

// TestLongMessagesThatDoNotArrive checks that the doctor reports connections over which no data
// arrives. The peer accepts connections but does not read from them, as if long packets were
// dropped on the way.
func TestLongMessagesThatDoNotArrive(t *testing.T) {
	t.Parallel() // the test waits most of the time
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	report, err := json.Marshal(doctor.Report{Version: "v1", Addresses: []doctor.Address{{At: netip.MustParseAddrPort(l.Addr().String())}}})
	require.NoError(t, err)
	a := host(t, "a", "v1")
	b := &doctor.Host{Name: "b", Line: []string{"sh", "-c", `echo gorun-doctor v1; echo '` + string(report) + `'; while read -r x; do echo '{}'; done`}}
	doctor.Examine([]*doctor.Host{a, b}, "v1", patience)
	require.Contains(t, lines(a), "FAIL  network       host b is reached, but long messages do not arrive there: ")
	require.Contains(t, lines(b), "warn  clock         it is -")
}

// TestHostsThatGoWhenTheyCall examines hosts whose commands end when they have to call the other hosts. Each host gets
// a failure and loses its report, perhaps before other hosts are told to call it.
func TestHostsThatGoWhenTheyCall(t *testing.T) {
	hosts := make([]*doctor.Host, 8)
	for i := range hosts {
		name := string(rune('a' + i))
		hosts[i] = &doctor.Host{Name: name, Line: []string{"sh", "-c", `echo gorun-doctor v1; echo '{}'; read -r x; echo '{}'; exit 3`}, By: "ssh " + name}
	}
	doctor.Examine(hosts, "v1", patience)
	for _, h := range hosts {
		require.Nil(t, h.Report)
		require.Contains(t, lines(h), "FAIL  reach         it has not called the other hosts: ")
	}
}

// Serve writes its report, and returns at the end of its input. For malformed input, it returns an error.
func TestServeEndsWithItsInput(t *testing.T) {
	var out strings.Builder
	require.NoError(t, doctor.Serve(strings.NewReader(""), &out, doctor.This(1), "v1", ""))
	require.True(t, strings.HasPrefix(out.String(), "gorun-doctor v1\n{"))
	require.Error(t, doctor.Serve(strings.NewReader("x"), &out, doctor.This(1), "v1", ""))
}
