package actors_test

import (
	"bytes"
	"fmt"
	"os"
	goruntime "runtime"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// soon is the longest time that tests wait for something that normally happens at once.
const soon = 20 * time.Second

// overNetwork makes ranks of this process use the network instead of shared memory.
func overNetwork(t *testing.T) {
	t.Helper()
	t.Setenv("GORUN_TRANSPORT", "rdma")
}

// TestMain fails if a goroutine of the package is left after the tests. A process that gorun has
// started for a test runs a program instead.
func TestMain(m *testing.M) {
	if program := os.Getenv(envProgram); program != "" {
		runtime.Main(programs[program])
		return
	}
	code := m.Run()
	launch.Clean()
	if left := leaked(); code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "goroutines left:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// leaked returns the stacks of goroutines that run code of this module and do not end soon. It
// omits the goroutine of TestMain.
func leaked() string {
	deadline := time.Now().Add(5 * time.Second)
	for {
		buf := make([]byte, 1<<20)
		buf = buf[:goruntime.Stack(buf, true)]
		var left [][]byte
		for _, stack := range bytes.Split(buf, []byte("\n\n")) {
			if bytes.Contains(stack, []byte("gorun/runtime")) && !bytes.Contains(stack, []byte("TestMain")) {
				left = append(left, stack)
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return string(bytes.Join(left, []byte("\n\n")))
		}
		goruntime.Gosched()
	}
}

// local runs test with the Systems of n ranks that are goroutines of this process.
func local(t *testing.T, n int, cfg actors.Config, test func(all []*actors.System)) {
	t.Helper()
	require.NoError(t, localErr(n, cfg, test))
}

// localErr works like local, and returns the error of the World.
func localErr(n int, cfg actors.Config, test func(all []*actors.System)) error {
	all := make([]*actors.System, n)
	var made sync.WaitGroup
	made.Add(n)
	done := make(chan struct{})
	return runtime.Local(n, func(w *runtime.World) error {
		s, err := actors.OfConfig(w, cfg)
		if err != nil {
			return err
		}
		all[w.Rank()] = s
		made.Done()
		if w.Rank() != 0 {
			<-done
			return nil
		}
		defer close(done)
		made.Wait()
		test(all)
		return nil
	})
}

// modes has both modes of delivery.
var modes = map[string]func(*actors.System) actor.PropsOption{
	"worker": (*actors.System).Worker,
	"inline": (*actors.System).Inline,
}

// inbox spawns an actor that sends its messages to a channel.
func inbox(t *testing.T, s *actors.System, name string, mode actor.PropsOption) <-chan any {
	t.Helper()
	c := make(chan any, 1<<17)
	_, err := s.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		switch m := ctx.Message().(type) {
		case *actor.Started, *actor.Stopping, *actor.Stopped:
		default:
			c <- m
		}
	}, mode), name)
	require.NoError(t, err)
	return c
}

// next returns the next value.
func next[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(soon):
		buf := make([]byte, 1<<20)
		t.Logf("%s", buf[:goruntime.Stack(buf, true)])
		require.FailNow(t, "nothing came")
		panic("not reached")
	}
}

// letters returns a channel of the dead letters of a rank.
func letters(s *actors.System) <-chan *actors.DeadLetter {
	c := make(chan *actors.DeadLetter, 1<<17)
	s.EventStream.Subscribe(func(e any) {
		if d, ok := e.(*actors.DeadLetter); ok {
			c <- d
		}
	})
	return c
}
