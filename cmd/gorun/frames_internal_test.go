package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	goruntime "runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// framesOf calls f for each frame in a stream, until the stream ends or is malformed, or f returns
// an error.
func framesOf(stream []byte, f func(k link.Kind, body []byte) error) error {
	in := bufio.NewReader(bytes.NewReader(stream))
	for {
		k, body, err := link.ReadFrame(in)
		if err != nil {
			return nil
		}
		if err := f(k, body); err != nil {
			return err
		}
	}
}

// frame returns a frame about a stream of a rank.
func frame(k link.Kind, rank int, of link.Stream, rest ...[]byte) []byte {
	return link.AppendFrame(nil, k, append([][]byte{link.Target{Rank: rank, Stream: of}.Append(nil)}, rest...)...)
}

// noProcess is a process number that no process has, because it is above the kernel's limit. A number such
// as 1 would make kill signal all processes of the machine.
const noProcess = 1 << 30

// hostOf returns a host that runs ranks 0 and 2 of three. room is the capacity of the job's channel news.
func hostOf(t *testing.T, room int) *host {
	t.Helper()
	o := &options{hosts: hostList{{"a", 2}, {"b", 1}}}
	j := &job{opts: o, news: make(chan news, room), node: &node{exits: make(chan exit, 3)}}
	j.server = bootstrap.NewServer(3, j.observe)
	var err error
	j.out, err = newOutput(o, 3)
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, fd := range []int{j.out.epoll, j.out.wake[0], j.out.wake[1]} {
			require.NoError(t, unix.Close(fd))
		}
	})
	h := &host{job: j, name: "a", input: newWindow(), conn: link.NewConn(nil, io.Discard)}
	for number := range 3 {
		r := &rank{number: number, pid: noProcess, served: make(chan struct{})}
		j.ranks = append(j.ranks, r)
		if number != 1 {
			r.remote = h
			j.out.addRemote(r, false, func(stream, int) {})
			h.ranks = append(h.ranks, r)
		}
	}
	j.server.Link([]int{0, 2}, io.Discard)
	return h
}

// agentFrames returns valid and invalid streams of frames of an agent with ranks 0 and 2.
func agentFrames(tb testing.TB) [][]byte {
	tb.Helper()
	card, err := bootstrap.Card{Rank: 2}.Append([]byte{1}) // the byte is the kind of the frame
	require.NoError(tb, err)
	return [][]byte{
		slices.Concat(frame(link.KindUp, 2, 0, card), frame(link.KindUp, 2, 0, []byte{4})),
		slices.Concat(frame(link.KindOutput, 0, link.Stdout, []byte("text")), frame(link.KindOutputEnd, 0, link.Stdout)),
		link.AppendFrame(nil, link.KindExit, link.Encode(link.Exit{Rank: 2, Status: 139})),
		slices.Concat(frame(link.KindUp, 0, 0, []byte{3, 7, 0, 0, 0, 'x'}), frame(link.KindUp, 0, 0)), // abort, empty frame
	}
}

// FuzzAgentFrames checks that frames of an agent cannot influence ranks of other hosts. It also checks that
// gorun either refuses the frames or passes on their output completely.
func FuzzAgentFrames(f *testing.F) {
	for _, stream := range agentFrames(f) {
		f.Add(stream)
		f.Add(slices.Concat(stream, stream))
		f.Add(stream[:len(stream)/2])
	}
	f.Add(frame(link.KindCredit, 0, 0, link.Amount(1)))
	f.Fuzz(func(t *testing.T, stream []byte) {
		h, written, ended := hostOf(t, len(stream)), 0, 0
		err := framesOf(stream, func(k link.Kind, body []byte) error {
			err := h.take(k, body)
			if _, rest, e := link.ParseTarget(body); err == nil && e == nil && k == link.KindOutput {
				written += len(rest)
			}
			if err == nil && k == link.KindExit {
				ended++
			}
			return err
		})
		if err != nil {
			require.ErrorIs(t, err, link.ErrMalformed)
		}
		for _, c := range h.job.out.chunks {
			written -= len(c.data)
		}
		require.Zero(t, written, "what was taken is what will be written")
		require.Len(t, h.job.node.exits, ended)
		for range ended {
			x := <-h.job.node.exits
			require.NotEqual(t, 1, x.rank.number, "a rank of another host")
			require.True(t, x.status.Exited() || x.status.Signaled())
		}
		require.Equal(t, bootstrap.RankStarted, h.job.server.State(1), "a rank of another host")
		for len(h.job.news) > 0 {
			require.NotEqual(t, 1, (<-h.job.news).Rank)
		}
	})
}

// gorun returns ErrMalformed for each violation of the protocol by an agent.
func TestAgentsThatBreakTheProtocol(t *testing.T) {
	big := make([]byte, link.WindowBytes)
	status := func(rank int, s uint32) []byte {
		return link.AppendFrame(nil, link.KindExit, link.Encode(link.Exit{Rank: rank, Status: s}))
	}
	for name, stream := range map[string][]byte{
		"output of another's rank":      frame(link.KindOutput, 1, link.Stdout, []byte("x")),
		"output of no rank":             frame(link.KindOutput, 3, link.Stdout, []byte("x")),
		"output on standard input":      frame(link.KindOutput, 0, link.Stdin, []byte("x")),
		"output after its end":          slices.Concat(frame(link.KindOutputEnd, 0, link.Stderr), frame(link.KindOutput, 0, link.Stderr, []byte("x"))),
		"two ends of output":            slices.Concat(frame(link.KindOutputEnd, 0, link.Stderr), frame(link.KindOutputEnd, 0, link.Stderr)),
		"more output than the window":   slices.Concat(frame(link.KindOutput, 0, link.Stdout, big), frame(link.KindOutput, 0, link.Stdout, []byte("x"))),
		"credit for what was not sent":  frame(link.KindCredit, 0, 0, link.Amount(1)),
		"the end of another's rank":     status(1, 0),
		"two ends of a rank":            slices.Concat(status(2, 0), status(2, 0)),
		"a rank that stopped as an end": status(2, 0x137f),
		"words after the end":           slices.Concat(status(2, 0), frame(link.KindUp, 2, 0, []byte{2})),
		"words of another's rank":       frame(link.KindUp, 1, 0, []byte{2}),
		"a frame of gorun's":            frame(link.KindSignal, 0, 0, link.Amount(9)),
		"a second hello":                link.AppendFrame(nil, link.KindHello),
	} {
		h := hostOf(t, 16)
		require.ErrorIs(t, framesOf(stream, h.take), link.ErrMalformed, name)
	}
	h := hostOf(t, 16)
	whole := slices.Concat(frame(link.KindOutput, 0, link.Stdout, big), frame(link.KindOutput, 0, link.Stderr, big), frame(link.KindOutput, 2, link.Stdout, big))
	require.NoError(t, framesOf(whole, h.take), "each stream has a window of its own")
}

// agentOf returns an agent with rank 0, whose connection has no input and discards its output.
func agentOf() *agent {
	a := &agent{node: &node{contain: outside{}}, out: newForwarder(), feed: newFeed(true, -1), started: make(chan struct{}), up: newWindow()}
	a.conn = link.NewConn(bufio.NewReader(bytes.NewReader(nil)), io.Discard)
	a.below = newBranches(a.conn)
	a.inbox = &inbox{}
	a.relay = bootstrap.NewRelay(1, []int{0}, func(int, []byte) error { return nil })
	target := link.Target{Stream: link.Stdout}
	a.out.streams[target] = &forwarded{target: target, room: newWindow()}
	return a
}

// FuzzGorunFrames checks that an agent either obeys the frames of gorun or returns ErrMalformed.
func FuzzGorunFrames(f *testing.F) {
	f.Add(slices.Concat(link.AppendFrame(nil, link.KindInput, []byte("text")), link.AppendFrame(nil, link.KindInputEnd)))
	f.Add(slices.Concat(frame(link.KindSignal, 0, 0, link.Amount(15)), link.AppendFrame(nil, link.KindKill)))
	f.Add(frame(link.KindCredit, 0, link.Stdout, link.Amount(1)))
	f.Add(link.AppendFrame(nil, link.KindDown, []byte{19}))
	f.Add(link.AppendFrame(nil, link.KindPlan, []byte(`{}`)))
	f.Add(link.AppendFrame(nil, link.KindProbe, []byte(`{"PID":0}`)))
	f.Fuzz(func(t *testing.T, stream []byte) {
		a := agentOf()
		err := framesOf(stream, func(k link.Kind, body []byte) error {
			if _, e := link.Decode[link.Probe](body); k == link.KindProbe && e == nil {
				return nil // a probe would examine a process of this machine
			}
			return a.obey(k, body)
		})
		if err != nil {
			require.ErrorIs(t, err, link.ErrMalformed)
		}
		require.NoError(t, a.conn.Flush())
	})
}

// An agent returns ErrMalformed for each violation of the protocol by gorun.
func TestGorunsThatBreakTheProtocol(t *testing.T) {
	plan := link.Encode(link.Plan{
		Generations: 1, Size: 1, Nodes: 1, Secret: make([]byte, link.SecretBytes), Ranks: []link.Rank{{}}, Bind: placement.None,
		Programs: []link.Program{{Path: "/x", Args: []link.Text{"x"}}},
	})
	for name, stream := range map[string][]byte{
		"a second plan":                 link.AppendFrame(nil, link.KindPlan, plan),
		"credit beyond the window":      frame(link.KindCredit, 0, link.Stdout, link.Amount(1)),
		"credit for no frames of ranks": frame(link.KindCredit, 0, link.Stdin, link.Amount(1)),
		"credit for no stream":          frame(link.KindCredit, 0, link.Stderr, link.Amount(0)),
		"a frame of an agent's":         link.AppendFrame(nil, link.KindExit, link.Encode(link.Exit{})),
		"a signal without a number":     frame(link.KindSignal, 0, 0),
		"a command of no words":         link.AppendFrame(nil, link.KindExec, link.Encode(link.Exec{})),
		"input without a command":       link.AppendFrame(nil, link.KindExecInput, []byte("x")),
	} {
		require.ErrorIs(t, framesOf(stream, agentOf().obey), link.ErrMalformed, name)
	}
	early := agentOf()
	early.relay = nil
	require.ErrorIs(t, framesOf(link.AppendFrame(nil, link.KindPlan, plan), early.obey), link.ErrMalformed, "a plan before the greeting")
	early.greeted = true
	require.ErrorIs(t, framesOf(link.AppendFrame(nil, link.KindEnd), early.obey), link.ErrMalformed, "an order before the plan")
	require.NoError(t, framesOf(link.AppendFrame(nil, link.KindKill), early.obey), "the agent of a host without ranks has nothing to kill")
	greet := link.AppendFrame(nil, link.KindGreet, link.Encode(link.Greet{}))
	require.ErrorIs(t, framesOf(greet, early.obey), link.ErrMalformed, "a second greeting")
	header := append([]byte{1, 0, 0, 0}, make([]byte, 32)...)
	for name, stream := range map[string][]byte{
		"a file that is shared, and was not asked for": link.AppendFrame(nil, link.KindShare, []byte{1, 0, 0, 0}),
		"half a share":                  link.AppendFrame(nil, link.KindShare, []byte{0, 0}),
		"a file that was not asked for": link.AppendFrame(nil, link.KindFile, header),
		"half a header":                 link.AppendFrame(nil, link.KindFile, header[:35]),
		"a piece of no file":            link.AppendFrame(nil, link.KindFileData, []byte("x")),
		"the end of no file":            link.AppendFrame(nil, link.KindFileData),
	} {
		early.inbox = newInbox("", early.conn, early.below)
		early.inbox.paths = []string{"/x"}
		require.ErrorIs(t, framesOf(stream, early.obey), link.ErrMalformed, name)
		early.inbox.close()
	}
}

// If an agent has reported the exit of a rank before its host was lost, the exit keeps its own cause. Only
// the other ranks of the host are lost with the host.
func TestEndsBeforeTheLossOfAHost(t *testing.T) {
	h := hostOf(t, 16)
	j := h.job
	j.opts.onFailure = bootstrap.OnFailureContinue // kills no rank: the ranks of this test are not processes
	j.watch.running = len(j.ranks)
	require.NoError(t, framesOf(link.AppendFrame(nil, link.KindExit, link.Encode(link.Exit{Rank: 2, Status: 7 << 8})), h.take))
	close(j.ranks[0].served) // listen does this when it ends
	h.why = errors.New("gone")
	j.lostHost(h)
	require.Equal(t, 1, j.watch.running)
	first := *j.verdict.first
	require.Len(t, first.ended, 1)
	require.Same(t, j.ranks[2], first.ended[0])
	first.of, first.ended = nil, nil // clears the processes, which cannot be compared
	require.Equal(t, failure{rank: 2, code: 7, how: "exited with code 7", continued: true}, first)
	require.Empty(t, j.ranks[2].lost)
	require.Equal(t, "gone", j.ranks[0].lost)
	require.Equal(t, exitLauncher, j.ranks[0].code())
}

// An agent reports the end of a rank after it has passed on all frames of the rank.
func TestAnAgentTellsAnEndLast(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(pair[1])) }()
	var said bytes.Buffer
	a := agentOf()
	a.conn = link.NewConn(bufio.NewReader(bytes.NewReader(nil)), &said)
	r := &rank{conn: os.NewFile(uintptr(pair[0]), "rank"), served: make(chan struct{})}
	a.node.ranks, a.node.exits = []*rank{r}, make(chan exit, 1)
	told := make(chan struct{})
	go func() {
		defer close(told)
		a.report()
	}()
	a.node.exits <- exit{rank: r}
	close(a.node.exits)               // no other rank ends
	for !errors.Is(err, unix.EPIPE) { // until the rank can no longer write
		_, err = unix.Write(pair[1], []byte{0})
	}
	for range 1000 {
		goruntime.Gosched()
	}
	a.conn.Send(link.KindUp, link.Target{}.Append(nil), []byte("last word"))
	close(r.served)
	<-told
	require.NoError(t, a.conn.Flush())
	var kinds []link.Kind
	require.NoError(t, framesOf(said.Bytes(), func(k link.Kind, _ []byte) error {
		kinds = append(kinds, k)
		return nil
	}))
	require.Equal(t, []link.Kind{link.KindUp, link.KindExit}, kinds)
}
