package goroutine_test

import (
	"context"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/goroutine"
)

func TestParse(t *testing.T) {
	all, ok := goroutine.Parse(`goroutine 1 gp=0xc0 m=nil [chan receive, 2 minutes, locked to thread]:
main.(*worker[...]).wait(0xc000012345, {0x1, 0x2})
	/src/main.go:12 +0x25
main.main()
	/src/main.go:7 +0x3c

goroutine 19 [syscall]:
os/signal.loop()
	/go/src/os/signal/signal_unix.go:23 +0x13
created by os/signal.Notify.func1.1 in goroutine 1
	/go/src/os/signal/signal.go:152 +0x1f
`)
	require.True(t, ok)
	require.Equal(t, []goroutine.Stack{
		{State: "chan receive", Functions: []string{"main.(*worker[...]).wait", "main.main"}},
		{State: "syscall", Functions: []string{"os/signal.loop"}, Creator: "os/signal.Notify.func1.1"},
	}, all)
}

func TestParseOfOtherTexts(t *testing.T) {
	for _, text := range []string{
		"", "\n", "goroutine 1", "goroutine 1 [running]", "goroutine 1 [running]:", "goroutine 1 [running]:\n\nx",
		"goroutine 1 [running]:\nmain.main()\n\t/x.go:1\n...additional frames elided...", "panic: [x]:\nmain.main()",
	} {
		_, ok := goroutine.Parse(text)
		require.False(t, ok, "%q", text)
	}
}

func FuzzParse(f *testing.F) {
	text := make([]byte, 1<<16)
	f.Add(string(text[:goruntime.Stack(text, true)]))
	f.Add("goroutine 1 [running]:\nmain.main()\n\t/x.go:1\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, ok := goroutine.Parse(text)
		if !ok {
			return
		}
		for _, s := range all {
			require.NotEmpty(t, s.Functions)
		}
		goroutine.AllIn(text, 1, "main.main")
	})
}

// part returns the text of a goroutine as goruntime.Stack prints it.
func part(state, creator string, functions ...string) string {
	var b strings.Builder
	b.WriteString("goroutine 7 [" + state + "]:\n")
	for _, f := range functions {
		b.WriteString(f + "(0x1)\n\t/src/x.go:1 +0x1\n")
	}
	if creator != "" {
		b.WriteString("created by " + creator + " in goroutine 1\n\t/src/x.go:1 +0x1\n")
	}
	return b.String()
}

const (
	wait  = "github.com/gorun-hpc/gorun/runtime/internal/engine.(*Engine).waitLong"
	fence = "github.com/gorun-hpc/gorun/bootstrap.(*Session).Fence"
)

func TestAllIn(t *testing.T) {
	const gorun = "github.com/gorun-hpc/gorun/runtime."
	const actors, servers = "github.com/gorun-hpc/gorun/runtime/actors.", "github.com/gorun-hpc/gorun/runtime/actors.(*servers).start"
	program := part("running", "", wait, gorun+"Recv[...]", "main.main")
	listener := part("running", gorun+"(*World).listen", gorun+"(*World).look", gorun+"(*World).listen.func2")
	for name, c := range map[string]struct {
		also string
		n    int
		want bool
	}{
		"alone":                    {"", 1, true},
		"more than there are":      {"", 2, false},
		"another one":              {part("chan receive", "main.main", wait, "main.main.func1"), 2, true},
		"one too many":             {part("chan receive", "main.main", wait, "main.main.func1"), 1, false},
		"a wait group":             {part("sync.WaitGroup.Wait", "main.main", "sync.(*WaitGroup).Wait", "main.f"), 1, true},
		"select without cases":     {part("select (no cases)", "main.main", "main.f"), 1, true},
		"sleeps":                   {part("sleep", "main.main", "time.Sleep", "main.f"), 1, false},
		"a lock":                   {part("sync.Mutex.Lock", "main.main", "sync.(*Mutex).Lock", "main.f"), 1, false},
		"a channel":                {part("chan receive", "main.main", "main.f"), 1, false},
		"a server":                 {part("IO wait", "main.main", "internal/poll.runtime_pollWait", "net/http.(*Server).Serve"), 1, false},
		"a connection of a server": {part("IO wait", "net/http.(*Server).Serve", "net.(*conn).Read", "net/http.(*conn).serve"), 1, false},
		"signals":                  {part("syscall", "os/signal.Notify.func1.1", "os/signal.signal_recv", "os/signal.loop"), 1, true},
		"gorun's own":              {part("select", "github.com/gorun-hpc/gorun/transport/rdma.New", "github.com/gorun-hpc/gorun/transport/rdma.(*listener).run"), 1, true},
		"gorun's own that sleeps":  {part("select", "github.com/gorun-hpc/gorun/runtime/internal/engine.(*Engine).Start", "github.com/gorun-hpc/gorun/transport.(*ChannelSleeper).Sleep", "github.com/gorun-hpc/gorun/runtime/internal/engine.(*Engine).runBackground"), 1, true},
		"gorun's own that reads":   {part("IO wait", "github.com/gorun-hpc/gorun/transport/rdma/iwarp.Dial", "net.(*netFD).Read", "github.com/gorun-hpc/gorun/transport/rdma/iwarp.read"), 1, true},
		"gorun's own in a program": {part("select", gorun+"NewRequest", "main.compute", gorun+"(*task).run"), 1, false},
		"an operation computes":    {part("runnable", gorun+"NewRequest", "github.com/gorun-hpc/gorun/collectives/internal/kernel.sum", "github.com/gorun-hpc/gorun/collectives.(*started).run", gorun+"(*task).run"), 1, false},
		"an operation waits":       {part("select", gorun+"NewRequest", wait, "github.com/gorun-hpc/gorun/collectives.(*started).run", gorun+"(*task).run"), 2, true},
		"another function":         {part("select", "main.main", fence, "main.f"), 2, true},
		"an actor's handler":       {part("select", "github.com/asynkron/protoactor-go/actor.(*goroutineDispatcher).Schedule", "main.(*a).Receive", "github.com/asynkron/protoactor-go/actor.(*defaultMailbox).run"), 1, false},
		"a server of actors":       {part("select", servers, wait, actors+"(*servers).run"), 1, true},
		"a server runs an actor":   {part("select", servers, wait, "main.(*a).Receive", actors+"(*mailbox).run", actors+"(*servers).run"), 2, true},
		"a worker that is idle":    {part("sync.Cond.Wait", actors+"(*workers).staff", "sync.runtime_notifyListWait", "sync.(*Cond).Wait", actors+"(*workers).work"), 1, true},
		"a worker before an actor": {part("runnable", actors+"(*workers).staff", actors+"(*workers).turn", actors+"(*workers).work"), 1, false},
		"a future":                 {part("sync.Cond.Wait", "main.main", "sync.(*Cond).Wait", "github.com/asynkron/protoactor-go/actor.(*Future).wait", "main.f"), 1, true},
		"a future that has ended":  {part("runnable", "main.main", "sync.(*Cond).Wait", "github.com/asynkron/protoactor-go/actor.(*Future).wait", "main.f"), 1, false},
		"a full mailbox":           {part("sync.Cond.Wait", "main.main", "sync.(*Cond).Wait", actors+"(*mailbox).postFull", "main.f"), 1, true},
		"another condition":        {part("sync.Cond.Wait", "main.main", "sync.(*Cond).Wait", "main.f"), 1, false},
		"a mailbox of protoactor":  {part("runnable", "github.com/asynkron/protoactor-go/actor.(*goroutineDispatcher).Schedule", "github.com/asynkron/protoactor-go/actor.(*defaultMailbox).processMessages"), 1, false},
		"a test below gorun":       {part("sleep", gorun+"NewRequest", "time.Sleep", "github.com/gorun-hpc/gorun/internal/phases_test.late"), 1, false},
		"a package like gorun":     {part("select", "main.main", "github.com/gorun-hpc/gorun/examples/heat.run"), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			text := program + "\n" + listener + "\n" + c.also
			require.Equal(t, c.want, goroutine.AllIn(strings.TrimRight(text, "\n"), c.n, wait, fence), text)
		})
	}
	require.False(t, goroutine.AllIn("", 0, wait))
}

// TestStatesOfGo checks two of the names in passive: this version of Go must print them for goroutines in these
// states.
func TestStatesOfGo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { <-ctx.Done() })
	for range 2 {
		go all.Wait()
	}
	var forever chan int
	go func() { <-forever }() // runs until the process ends
	text := make([]byte, 1<<20)
	require.Eventually(t, func() bool {
		stacks, ok := goroutine.Parse(string(text[:goruntime.Stack(text, true)]))
		states := map[string]int{}
		for _, s := range stacks {
			states[s.State]++
		}
		return ok && states["sync.WaitGroup.Wait"] == 2 && states["chan receive (nil chan)"] == 1
	}, time.Minute, time.Millisecond)
}

func TestActs(t *testing.T) {
	const gorun = "github.com/gorun-hpc/gorun/"
	for f, want := range map[string]bool{
		"main.main.func1":                                          true,
		"context.WithDeadlineCause.func2":                          true,
		"sync.(*Mutex).Unlock-fm":                                  true,
		gorun + "examples/heat.run":                                true,
		gorun + "collectives.(*watch).again.1":                     false,
		gorun + "runtime.(*World).takeRevocation.func2":            true,
		gorun + "runtime/internal/engine.(*Engine).despair-fm":     true,
		gorun + "runtime/internal/engine.(*Engine).batchesDue-fm":  false,
		gorun + "runtime/actors.(*workers).watch.func1":            false,
		gorun + "runtime/actors.(*System).keep.func1":              true,
		gorun + "transport/rdma.(*connector).inspect.func1":        false,
		"github.com/asynkron/protoactor-go/actor.NewFuture.func1":  true,
		"github.com/asynkron/protoactor-go/scheduler.startTimer.1": true,
	} {
		require.Equal(t, want, goroutine.Acts([]string{gorun + "transport/rdma.f", f}), f)
	}
	require.False(t, goroutine.Acts(nil))
}
