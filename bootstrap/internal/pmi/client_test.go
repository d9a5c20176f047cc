package pmi_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap/internal/pmi"
)

// launcher simulates a launcher. It expects the lines of the transcript one after the other, and answers each
// line with the text after " << ".
func launcher(t *testing.T, transcript string) *pmi.Client {
	t.Helper()
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	t.Cleanup(func() {
		require.NoError(t, ours.Close())
		<-done
	})
	go func() {
		defer close(done)
		defer func() { _ = theirs.Close() }()
		in := bufio.NewReader(theirs)
		for line := range strings.SplitSeq(transcript, "\n") {
			want, answer, _ := strings.Cut(line, " << ")
			got, err := in.ReadString('\n')
			if err != nil || got != want+"\n" {
				_, _ = io.WriteString(theirs, "cmd=unexpected got="+strings.TrimSpace(got)+"\n")
				return
			}
			if _, err := io.WriteString(theirs, strings.ReplaceAll(answer, "|", "\n")); err != nil {
				return
			}
		}
	}()
	return pmi.New(ours)
}

// begin has the requests of a client at the start of a session, and the answers of MPICH's mpiexec.hydra
// 4.0.2.
const begin = "cmd=init pmi_version=1 pmi_subversion=1 << cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0|\n" +
	"cmd=get_my_kvsname << cmd=my_kvsname kvsname=kvs_21565_0_1751001348_vm|\n"

// A client publishes a value, passes the barrier and reads the value. The error for a missing key has the
// launcher's message.
func TestOneValuePasses(t *testing.T) {
	c := launcher(t, begin+
		"cmd=put kvsname=kvs_21565_0_1751001348_vm key=place value=AQID_-9 << cmd=put_result rc=0 msg=success|\n"+
		"cmd=barrier_in << cmd=barrier_out|\n"+
		"cmd=get kvsname=kvs_21565_0_1751001348_vm key=place << cmd=get_result rc=0 msg=success value=AQID_-9|\n"+
		"cmd=get kvsname=kvs_21565_0_1751001348_vm key=none << cmd=get_result rc=-1 msg=key none not found value=unknown|\n"+
		"cmd=finalize << cmd=finalize_ack|")
	require.NoError(t, c.Init())
	require.NoError(t, c.Put("place", "AQID_-9"))
	require.NoError(t, c.Barrier())
	v, err := c.Get("place")
	require.NoError(t, err)
	require.Equal(t, "AQID_-9", v)
	_, err = c.Get("none")
	require.ErrorContains(t, err, "key none not found")
	require.NoError(t, c.Finalize())
}

// Identify parses the rank and size in the answer of a launcher. It returns an error for an answer without a
// valid rank and size.
func TestIdentity(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		rank   int
		size   int
		err    string
	}{
		"MPICH -pmi-port": {"cmd=initack|cmd=set size=3|cmd=set rank=2|cmd=set debug=0|", 2, 3, ""},
		"no rank":         {"cmd=initack|cmd=set size=0|cmd=set debug=0|", 0, 0, "rank 0 of 0"},
		"out of range":    {"cmd=initack|cmd=set size=3|cmd=set rank=3|cmd=set debug=0|", 0, 0, "rank 3 of 3"},
		"nonsense":        {"cmd=initack|cmd=set size=x|", 0, 0, "invalid syntax"},
		"another answer":  {"cmd=no|", 0, 0, `answer "no" to initack`},
	} {
		t.Run(name, func(t *testing.T) {
			rank, size, err := launcher(t, "cmd=initack pmiid=2 << "+tc.answer).Identify("2")
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, [2]int{tc.rank, tc.size}, [2]int{rank, size})
		})
	}
}

// Init returns an error that describes how the launcher's answer breaks the protocol.
func TestLaunchersThatBreakTheProtocol(t *testing.T) {
	const ask = "cmd=init pmi_version=1 pmi_subversion=1 << "
	for name, tc := range map[string]struct{ transcript, err string }{
		"another version": {ask + "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1|", "it speaks 2.0"},
		"another answer":  {ask + "cmd=barrier_out|", "malformed"},
		"no command":      {ask + "rc=0|", "malformed"},
		"an empty line":   {ask + "|", "malformed"},
		"no store":        {ask + "cmd=response_to_init rc=0|\ncmd=get_my_kvsname << cmd=my_kvsname|", "no name"},
		"half a line":     {ask + "cmd=response", "unexpected EOF"},
		"the end":         {ask, "EOF"},
		"a long line":     {ask + "cmd=response_to_init msg=" + strings.Repeat("x", 2000) + "|", "buffer full"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, launcher(t, tc.transcript).Init(), tc.err)
		})
	}
}

// Put refuses values with characters that launchers interpret or alter, and values that are too
// long.
func TestValuesThatLaunchersChangeAreRefused(t *testing.T) {
	c := launcher(t, begin)
	require.NoError(t, c.Init())
	for _, v := range []string{"a b", "a=b", "a;b", "a\\b", "a\nb", "\x7f", strings.Repeat("x", pmi.ValueBytesMax+1)} {
		require.Error(t, c.Put("key", v), v)
	}
}

// FuzzAnswer checks that no answer of a launcher makes the client panic or hang.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\ncmd=my_kvsname kvsname=k\ncmd=get_result rc=0 msg=success value=v\n",
		"cmd=get_result rc=-1 msg=a b c value=unknown\n", "cmd=\n", "\n", "rc=0\n", "cmd=x y\n", "cmd=x =y\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		c := pmi.New(stream{strings.NewReader(text)})
		if c.Init() == nil {
			_, _ = c.Get("key")
			_ = c.Barrier()
		}
	})
}

// stream is a launcher that sends a fixed text, whatever the client requests.
type stream struct{ io.Reader }

func (stream) Write(p []byte) (int, error) { return len(p), nil }
func (stream) Close() error                { return nil }
