package runtime_test

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// passOn exchanges messages with both neighbours only.
func passOn(w *runtime.World) error {
	c := w.Comm()
	right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	_, err := runtime.SendRecv(c, []int{1}, right, 0, make([]int, 1), left, 0)
	return err
}

// greetAll exchanges messages with all ranks.
func greetAll(w *runtime.World) error {
	c := w.Comm()
	for away := range c.Size() {
		to, from := (c.Rank()+away)%c.Size(), (c.Rank()+c.Size()-away)%c.Size()
		if _, err := runtime.SendRecv(c, []int{1}, to, 0, make([]int, 1), from, 0); err != nil {
			return err
		}
	}
	return nil
}

// explained returns the lines of an explanation that begin with the number of a rank: the lines about its peers and
// those of its Explainers.
func explained(r result, rank int) []string {
	return regexp.MustCompile(fmt.Sprintf(`(?m)^rank %d: .*$`, rank)).FindAllString(r.errors, -1)
}

// -explain prints for each peer the lane and the path of long messages. If long messages do not use
// the system call process_vm_readv, -explain prints the reason.
func TestExplainedWays(t *testing.T) {
	for _, c := range []struct{ cma, way string }{
		{"1", `by (process_vm_readv \(probed\)|staged copy \(process_vm_readv: .+\))`}, // staged copy in some containers
		{"0", `by staged copy \(process_vm_readv: switched off\)`},
	} {
		r := launch(t, 3, "sizes", "-explain", "-x", "GORUN_CMA="+c.cma)
		require.Zero(t, r.code, r.errors)
		for rank := range 3 {
			lines := explained(r, rank)
			require.Len(t, lines, 2, r.errors)
			for i, peer := range slices.DeleteFunc([]int{0, 1, 2}, func(p int) bool { return p == rank }) {
				require.Regexp(t, fmt.Sprintf(`^rank %d: to rank %d: shm, lane (inbox|ring \d), private memory %s`, rank, peer, c.way), lines[i])
			}
		}
	}
}

// Without -explain a job prints nothing on standard error.
func TestNothingIsExplainedUnasked(t *testing.T) {
	r := launch(t, 2, "circle")
	require.Zero(t, r.code)
	require.Empty(t, r.errors)
}

// In a small World all peers are listed, in a larger one only the peers that exchanged messages
// with the rank. The number of lines is bounded.
func TestExplainedPeers(t *testing.T) {
	for _, c := range []struct {
		program     string
		ranks, want int
	}{{"circle", 1, 0}, {"circle", 8, 7}, {"circle", 9, 2}, {"crowd", 18, 17}} {
		r := launch(t, c.ranks, c.program, "-explain")
		require.Zero(t, r.code, r.errors)
		for rank := range c.ranks {
			lines := explained(r, rank)
			require.Len(t, lines, c.want, r.errors)
			for _, line := range lines { // the messages were too short for a test of process_vm_readv
				if strings.Contains(line, "... and") {
					continue
				}
				require.Regexp(t, `private memory by (process_vm_readv \(probed\)|staged copy \(process_vm_readv: .+\))`, line)
				if c.ranks <= 9 { // each pair of ranks gets its ring before the first message
					require.Regexp(t, `lane ring \d`, line)
				}
			}
		}
		require.Equal(t, c.program == "crowd", strings.Contains(r.errors, "rank 17: ... and 1 more\n"), r.errors)
	}
}

// opinion is an Explainer whose lines are its elements.
type opinion []string

func (o opinion) Explain() []string { return o }

// remark makes rank 1 set attributes of the World's communicator, one of which is an Explainer.
func remark(w *runtime.World) error {
	if w.Rank() != 1 {
		return nil
	}
	if _, err := w.Comm().Attribute("silent", func() (any, error) { return 7, nil }); err != nil {
		return err
	}
	_, err := w.Comm().Attribute("opinion", func() (any, error) { return opinion{"one thing", "another"}, nil })
	return err
}

// -explain prints the lines of attributes after the lines of the transports, and without -explain
// nothing is printed.
func TestExplainedAttributes(t *testing.T) {
	r := launch(t, 2, "remark", "-explain")
	require.Zero(t, r.code, r.errors)
	require.Len(t, explained(r, 0), 1, r.errors)
	require.Equal(t, []string{"rank 1: one thing", "rank 1: another"}, explained(r, 1)[1:])
	require.Empty(t, launch(t, 2, "remark").errors)
}

// intrude makes one rank open a TCP connection to the port at which its peer accepts connections,
// and send an HTTP request. The rank whose peer does not listen does nothing.
func intrude(w *runtime.World) error {
	if err := greetAll(w); err != nil {
		return err
	}
	_, to, _ := strings.Cut(w.Explain(1-w.Rank()), " -> ")
	to, _, _ = strings.Cut(to, ",")
	conn, err := net.Dial("tcp", to)
	if err != nil {
		return nil // the peer opened the connection, so it does not listen at this port
	}
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		return err
	}
	_, _ = conn.Read(make([]byte, 1)) // until the peer drops the connection
	return conn.Close()
}

// -explain reports how many foreign connections were dropped, by reason.
func TestExplainedStrangers(t *testing.T) {
	r := launch(t, 2, "intrude", "-transport", "rdma", "-explain")
	require.Zero(t, r.code, r.errors)
	require.Len(t, regexp.MustCompile(`(?m)^rank \d: connections dropped: (1 closed by the peer .*, )?1 with something else in place of a request$`).
		FindAllString(r.errors, -1), 1, r.errors)
	require.NotRegexp(t, `requests refused: (\d+ of ranks, but not .*, )?\d+ (without|of another|of ranks that)`, r.errors)
}

// A duration setting without a unit, or with a negative value, ends the program with an error that names the setting.
func TestBadDurationsAreNamed(t *testing.T) {
	for _, setting := range []string{"GORUN_SPIN=50", "GORUN_YIELD=-1ms"} {
		name, value, _ := strings.Cut(setting, "=")
		want := fmt.Sprintf("bad %s: %q is not a duration such as 50us", name, value)
		r := launch(t, 1, "greet", "-x", setting)
		require.Equal(t, 1, r.code, r.errors)
		require.Contains(t, r.errors, want)
		require.Empty(t, r.out)
		t.Run(setting, func(t *testing.T) {
			t.Setenv(name, value)
			require.ErrorContains(t, runtime.Local(1, func(*runtime.World) error { return nil }), want)
		})
	}
	require.Zero(t, launch(t, 2, "greet", "-x", "GORUN_SPIN=0", "-x", "GORUN_YIELD=1ms").code)
}
