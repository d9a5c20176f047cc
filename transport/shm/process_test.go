package shm_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	goruntime "runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// These variables configure a process that plays a rank.
const (
	envScene = "SHM_TEST_SCENE"
	envRank  = "SHM_TEST_RANK"
	envRanks = "SHM_TEST_RANKS"
	envCMA   = "SHM_TEST_NO_CMA"

	// envExec is the path of the emulator that starts this program, as with go test -exec, on a
	// system that cannot start it directly.
	envExec = "SHM_TEST_EXEC"
)

// scenes are the functions that a rank process can run. A scene returns when a message tells it to
// end.
var scenes = map[string]func(p *player) error{
	"echo":   playEcho,
	"sink":   playSink,
	"source": playSource,
	"sleep":  playSleep,
}

func TestMain(m *testing.M) {
	if scene := os.Getenv(envScene); scene != "" {
		if err := play(scene); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// player is a rank in a process of its own, or rank 0 in the process of the test.
type player struct {
	tr   *shm.Transport
	to0  transport.Endpoint
	rank int
	log
	// onArrive, if set, gets the messages instead of log.
	onArrive func(h transport.Header, payload []byte)
}

func (p *player) Arrive(peer int, h transport.Header, payload []byte) {
	if p.onArrive != nil {
		p.onArrive(h, payload)
		return
	}
	p.log.Arrive(peer, h, payload)
}

// poll polls until done returns true.
func (p *player) poll(done func() bool) error {
	for !done() {
		if _, err := p.tr.Poll(p, 64); err != nil {
			return err
		}
	}
	return nil
}

// play is the main function of a rank process.
func play(scene string) error {
	rank, _ := strconv.Atoi(os.Getenv(envRank))
	ranks, _ := strconv.Atoi(os.Getenv(envRanks))
	pin(rank)
	node, err := shm.OpenNode(3, ranks, rangeBytes)
	if err != nil {
		return err
	}
	tr, err := shm.New(node, shm.Config{Rank: rank, LocalRank: rank, DisableCMA: os.Getenv(envCMA) != ""})
	if err != nil {
		return err
	}
	e, err := tr.Endpoint(0)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	go func() {
		// The test's process holds the other end of this pipe. So this process ends when the test's
		// process ends.
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(2)
	}()
	p := &player{tr: tr, to0: e, rank: rank}
	if err := scenes[scene](p); err != nil {
		return fmt.Errorf("rank %d: %w", rank, err)
	}
	return tr.Close()
}

// pin binds the calling goroutine to its thread, and this thread and the threads that it creates later to one
// processor.
func pin(rank int) {
	var all, one unix.CPUSet
	if unix.SchedGetaffinity(0, &all) != nil || all.Count() < 2 {
		return
	}
	n := rank % all.Count()
	for cpu := range 1024 {
		if !all.IsSet(cpu) {
			continue
		}
		if n == 0 {
			one.Set(cpu)
			break
		}
		n--
	}
	goruntime.LockOSThread()
	_ = unix.SchedSetaffinity(0, &one)
}

// stage is the test's process as rank 0, with the other ranks in processes of their own.
type stage struct {
	*player
	node  *shm.Node
	procs []*exec.Cmd
}

// newStage starts processes that play ranks 1 to ranks-1 in a scene, and waits until these ranks
// have joined.
func newStage(tb testing.TB, scene string, ranks int, noCMA bool) *stage {
	tb.Helper()
	fd := memory(tb, ranks)
	f := os.NewFile(uintptr(fd), "node")
	s := &stage{}
	for rank := 1; rank < ranks; rank++ {
		c := exec.Command(os.Args[0])
		if emulator := os.Getenv(envExec); emulator != "" {
			c = exec.Command(emulator, os.Args[0])
		}
		c.ExtraFiles = []*os.File{f}
		c.Env = append(os.Environ(), envScene+"="+scene, envRank+"="+strconv.Itoa(rank), envRanks+"="+strconv.Itoa(ranks), "GOMAXPROCS=1")
		if noCMA {
			c.Env = append(c.Env, envCMA+"=1")
		}
		c.Stderr = os.Stderr
		_, err := c.StdinPipe()
		require.NoError(tb, err)
		out, err := c.StdoutPipe()
		require.NoError(tb, err)
		require.NoError(tb, c.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(tb, err)
		require.Equal(tb, "ready\n", line)
		s.procs = append(s.procs, c)
	}
	var err error
	s.node, err = shm.OpenNode(fd, ranks, rangeBytes)
	require.NoError(tb, err)
	require.NoError(tb, f.Close())
	tr, err := shm.New(s.node, shm.Config{DisableCMA: noCMA})
	require.NoError(tb, err)
	s.player = &player{tr: tr}
	tb.Cleanup(func() { s.end(tb) })
	return s
}

// end tells the other ranks to end, reaps them and frees the node memory.
func (s *stage) end(tb testing.TB) {
	tb.Helper()
	for i, c := range s.procs {
		if c.ProcessState != nil {
			continue
		}
		e := endpointTo(tb, s.tr, i+1)
		require.NoError(tb, sendAll(s.tr, s, e, transport.Header{A: wordEnd}, nil))
		require.NoError(tb, c.Wait())
	}
	require.NoError(tb, s.tr.Close())
	require.NoError(tb, s.node.Close())
}

// kill kills a rank with SIGKILL and reaps it.
func (s *stage) kill(tb testing.TB, rank int) {
	tb.Helper()
	c := s.procs[rank-1]
	require.NoError(tb, c.Process.Kill())
	require.Error(tb, c.Wait())
}

// These are the commands of the scenes, in field A of a header.
const (
	wordEnd = iota + 1
	wordData
	wordAnswer
	wordKey
	wordClaim
	wordFixed
)

// askKey makes rank 1 expose n bytes, and returns their key. Rank 1 runs the scene playSource.
func (s *stage) askKey(tb testing.TB, n int, seed uint64) transport.Key {
	tb.Helper()
	return s.ask(tb, 1, transport.Header{A: wordKey, B: uint64(n), C: seed})
}

// ask makes a rank that runs playSource expose memory, and returns the key of the memory.
func (s *stage) ask(tb testing.TB, rank int, h transport.Header) transport.Key {
	tb.Helper()
	s.onArrive = nil
	s.arrivals = nil
	require.NoError(tb, endpointTo(tb, s.tr, rank).Send(h, nil))
	require.NoError(tb, s.poll(func() bool { return len(s.arrivals) > 0 }))
	h = s.arrivals[0].header
	return transport.Key{Addr: h.B, Token: h.C}
}

// get reads memory of rank 1.
func (s *stage) get(tb testing.TB, dst []byte, k transport.Key) error {
	tb.Helper()
	s.done = s.done[:0]
	if err := endpointTo(tb, s.tr, 1).Get(dst, k, 1); err != nil {
		return err
	}
	require.NoError(tb, s.poll(func() bool { return len(s.done) > 0 }))
	return s.done[0].err
}

// word returns a payload that holds one number.
func word(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// Messages, wake-ups and Gets work between ranks in processes of their own, with direct and with
// staged copies.
func TestProcesses(t *testing.T) {
	rounds := uint64(2000)
	if testing.Short() {
		rounds = 300
	}
	t.Run("echo", func(t *testing.T) {
		s := newStage(t, "echo", 3, false)
		for peer := 1; peer <= 2; peer++ {
			e := endpointTo(t, s.tr, peer)
			for i := range rounds {
				size := int(i * 37 % 8193)
				s.arrivals = s.arrivals[:0]
				want := pattern(size, i)
				require.NoError(t, e.Send(transport.Header{A: wordData, B: i}, want))
				require.NoError(t, s.poll(func() bool { return len(s.arrivals) > 0 }))
				require.Equal(t, transport.Header{A: wordData, B: i}, s.arrivals[0].header)
				require.True(t, bytes.Equal(want, s.arrivals[0].payload))
			}
		}
	})
	t.Run("asleep", func(t *testing.T) {
		s := newStage(t, "sleep", 2, false)
		e := endpointTo(t, s.tr, 1)
		for i := range rounds {
			s.arrivals = s.arrivals[:0]
			require.NoError(t, e.Send(transport.Header{A: wordData, B: i}, word(i)))
			for len(s.arrivals) == 0 {
				require.NoError(t, sleepOnce(s.tr, s))
			}
			require.Equal(t, i, s.arrivals[0].header.B)
		}
	})
	for name, noCMA := range map[string]bool{"get": false, "get staged": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "source", 2, noCMA)
			for i, n := range []int{0, 1, 4096, 100_000, 1 << 20, 5<<20 + 17} {
				k := s.askKey(t, n, uint64(i))
				dst := make([]byte, n)
				require.NoError(t, s.get(t, dst, k))
				require.Equal(t, pattern(n, uint64(i)), dst)
				t.Log(s.tr.Explain(1))
			}
		})
	}
}

// A rank that is killed is reported once, after the pending operations on its memory have completed.
// Other ranks are not affected.
func TestKilled(t *testing.T) {
	for _, noCMA := range []bool{false, true} {
		s := newStage(t, "source", 3, noCMA)
		k := s.askKey(t, 8<<20, 1)
		e := endpointTo(t, s.tr, 1)
		require.NoError(t, e.Get(make([]byte, 8<<20), k, 7))
		s.done = nil
		_, err := s.tr.Poll(s, 16)
		require.NoError(t, err)
		s.kill(t, 1)
		s.tr.MarkDown(1, unix.ESRCH)
		require.NoError(t, s.poll(func() bool { return len(s.downs) > 0 }))
		require.Len(t, s.done, 1)
		require.ErrorIs(t, s.downs[0], unix.ESRCH)
		require.ErrorIs(t, e.Send(transport.Header{}, nil), transport.ErrPeerDown)
		// The loss of rank 1 does not affect rank 2.
		s.arrivals = nil
		require.NoError(t, endpointTo(t, s.tr, 2).Send(transport.Header{A: wordKey, B: 10}, nil))
		require.NoError(t, s.poll(func() bool { return len(s.arrivals) > 0 }))
		require.Len(t, s.downs, 1)
	}
}
