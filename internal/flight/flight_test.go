package flight_test

import (
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/flight"
)

// memory returns zeroed memory for a Recorder.
func memory() []byte { return make([]byte, flight.Bytes) }

// read requires that Read succeeds and returns its result.
func read(t *testing.T, memory []byte) flight.Log {
	t.Helper()
	l, err := flight.Read(memory)
	require.NoError(t, err)
	return l
}

func TestRecords(t *testing.T) {
	m := memory()
	begun := time.Now()
	r := flight.New(m)
	send, receive := r.Text("send"), r.Text("receive")
	r.Tick(begun.Add(2 * time.Second))
	r.Moved(send, 2*flight.Contexts, 3, 1<<30, 8)
	n := r.Begin(receive, 0, -1, -1, 1<<50)
	r.Tick(begun.Add(70 * time.Hour))
	r.Wait()
	r.Waiting(n, 0)
	r.Tick(begun.Add(71 * time.Hour))
	l := read(t, m)
	require.Len(t, l.Messages, 2)
	require.Equal(t, time.Hour, l.Counts.Waited.Round(time.Minute), "the wait under way counts")
	require.Equal(t, flight.Waiting, l.Messages[1].State)
	counts, now, err := flight.ReadCounts(m)
	require.NoError(t, err)
	require.Equal(t, l.Counts, counts)
	require.Equal(t, l.Time, now)
	r.Resume()
	r.End(n, 100, true)
	failed := r.Begin(receive, 0, 1<<24-2, 5, 0)
	r.End(failed, 0, false)
	r.Unexpected(50)
	r.Unexpected(-20)

	l = read(t, m)
	require.Equal(t, flight.Counts{Messages: 3, Bytes: 108, Waited: l.Counts.Waited, Unexpected: 30}, l.Counts)
	require.Equal(t, time.Hour, l.Counts.Waited.Round(time.Minute))
	at := func(d time.Duration, got time.Time) {
		t.Helper()
		require.WithinDuration(t, begun.Add(d), got, time.Second)
	}
	at(71*time.Hour, l.Time)
	at(2*time.Second, l.Messages[0].Began)
	at(2*time.Second, l.Messages[0].Changed)
	at(2*time.Second, l.Messages[1].Began)
	at(71*time.Hour, l.Messages[1].Changed)
	for i := range l.Messages {
		l.Messages[i].Began, l.Messages[i].Changed = time.Time{}, time.Time{}
	}
	require.Equal(t, []flight.Operation{
		{Number: 0, Message: true, Op: "send", Communicator: 2, Peer: 3, Tag: 1 << 30, Bytes: 8, State: flight.Done},
		{Number: 1, Message: true, Op: "receive", Peer: -1, Tag: -1, Bytes: 1<<39 - 1, State: flight.Failed},
		{Number: 2, Message: true, Op: "receive", Peer: 1<<24 - 2, Tag: 5, State: flight.Done},
	}, l.Messages)

	text, err := json.Marshal(l)
	require.NoError(t, err)
	var again flight.Log
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, l.Messages, again.Messages)
}

// TestClockDoesNotGoBack checks that a Tick of a goroutine that was delayed does not put later records before earlier
// ones.
func TestClockDoesNotGoBack(t *testing.T) {
	m, begun := memory(), time.Now()
	r := flight.New(m)
	send := r.Text("send")
	r.Tick(begun.Add(time.Hour))
	r.Moved(send, 0, 1, 0, 8)
	r.Tick(begun.Add(time.Minute))
	r.Tick(begun.Add(-time.Hour))
	r.Moved(send, 0, 1, 1, 8)
	l := read(t, m)
	require.Len(t, l.Messages, 2)
	require.Equal(t, l.Messages[0].Changed, l.Messages[1].Changed)
	require.WithinDuration(t, begun.Add(time.Hour), l.Time, time.Second)
}

// TestWrapAround checks that the last 256 records are kept, and that the late end of an
// overwritten operation is not written into the record of another operation.
func TestWrapAround(t *testing.T) {
	m := memory()
	r := flight.New(m)
	op := r.Text("op")
	first := r.Begin(op, 0, 1, 0, 0)
	began := r.Start(flight.NewCall(op, 0, 1), 0, 0, 0)
	for n := 1; n < 70000; n++ {
		r.Moved(op, 0, 1, n, n)
		r.Start(flight.NewCall(op, 0, 1), n, n, 0).End(false)
		if n == 255 {
			l := read(t, m)
			require.Zero(t, l.Messages[0].Number)
			require.Equal(t, flight.Begun, l.Messages[0].State)
			require.Equal(t, flight.Begun, l.Operations[0].State)
		}
	}
	r.Waiting(first, 0)
	r.End(first, 0, true)
	began.End(true)
	l := read(t, m)
	for _, list := range [][]flight.Operation{l.Messages, l.Operations} {
		require.Len(t, list, flight.Slots)
		for i, o := range list {
			require.EqualValues(t, 70000-flight.Slots+i, o.Number)
			require.EqualValues(t, o.Number, o.Tag)
			require.EqualValues(t, o.Number, o.Bytes)
			require.Equal(t, flight.Done, o.State)
		}
	}
}

//go:noinline
func called(r *flight.Recorder) (site flight.Site, line int) {
	var stack [8]uintptr
	n := goruntime.Callers(1, stack[:])
	_, _, line, _ = goruntime.Caller(0)
	return r.Place(stack[:n]), line - 1
}

func TestPlaces(t *testing.T) {
	m := memory()
	r := flight.New(m)
	op := r.Text("op")
	site, inner := called(r)
	_, _, outer, _ := goruntime.Caller(0)
	r.Start(flight.NewCall(op, 0, -1), 1, 2, site).End(true)
	n := r.Begin(op, 0, 1, 2, 3)
	r.Waiting(n, site)
	r.End(n, 3, false)
	l := read(t, m)
	for _, o := range []flight.Operation{l.Operations[0], l.Messages[0]} {
		require.Equal(t, fmt.Sprintf("flight_test.go:%d (flight_test.called)", inner), o.Site)
		require.Equal(t, fmt.Sprintf("flight_test.go:%d (flight_test.TestPlaces)", outer-1), o.Caller)
	}
	require.Equal(t, flight.Failed, l.Operations[0].State)
	require.Equal(t, -1, l.Operations[0].Peer)
	var stack [8]uintptr
	depth := goruntime.Callers(1, stack[:])
	require.Zero(t, testing.AllocsPerRun(100, func() {
		r.Waiting(r.Begin(op, 0, 1, 2, 3), r.Place(stack[:depth]))
		r.Moved(op, 0, 1, 2, 3)
		r.Start(flight.NewCall(op, 0, 1), 2, 3, r.Place(stack[:depth])).End(false)
	}))
	for i := range 1000 {
		_ = r.Text(fmt.Sprint(i))
	}
	require.Zero(t, r.Text("one too many"))
	require.Equal(t, op, r.Text("op"))
}

func TestNoRecord(t *testing.T) {
	_, err := flight.Read(memory())
	require.ErrorIs(t, err, flight.ErrNone)
	_, err = flight.Read(nil)
	require.ErrorIs(t, err, flight.ErrNone)
	m := memory()
	flight.New(m)
	m[8]++
	_, err = flight.Read(m)
	require.ErrorIs(t, err, flight.ErrLayout)
	_, _, err = flight.ReadCounts(m)
	require.ErrorIs(t, err, flight.ErrLayout)
}

// TestReaderAgainstWriters checks that a reader never sees a mix of two records while records are written.
// For this check, every writer derives all fields of a record from one number.
func TestReaderAgainstWriters(t *testing.T) {
	m := memory()
	r := flight.New(m)
	op := r.Text("op")
	var ended atomic.Bool
	var writers sync.WaitGroup
	writers.Go(func() {
		for n := 0; !ended.Load(); n++ {
			if n%2 == 0 {
				r.Moved(op, uint32(n)*flight.Contexts%(1<<30), n%(1<<20), n%(1<<30), n)
				continue
			}
			r.End(r.Begin(op, uint32(n)*flight.Contexts%(1<<30), n%(1<<20), n%(1<<30), n), n, false)
		}
	})
	for w := range 2 {
		writers.Go(func() {
			for n := w; !ended.Load(); n += 2 {
				r.Start(flight.NewCall(op, uint32(n)*flight.Contexts%(1<<30), n%(1<<20)), n%(1<<30), n, flight.Site(n)).End(false)
			}
		})
	}
	seen := 0
	for seen < 20000 {
		l := read(t, m)
		for _, o := range append(l.Messages, l.Operations...) {
			seen++
			n := int(o.Bytes)
			if o.Peer != n%(1<<20) || o.Tag != n%(1<<30) || o.Communicator != n*flight.Contexts%(1<<30)/flight.Contexts {
				t.Errorf("a mixed record: %+v", o)
				seen = 20000
				break
			}
		}
		for i := range l.Messages {
			if o := l.Messages[i]; o.Bytes != int64(o.Number) {
				t.Errorf("record %d has number %d", o.Bytes, o.Number)
				seen = 20000
				break
			}
		}
	}
	ended.Store(true)
	writers.Wait()
}

func BenchmarkMoved(b *testing.B) {
	r := flight.New(nil)
	for b.Loop() {
		r.Moved(1, 0, 1, 7, 8)
	}
}

func BenchmarkBeginEnd(b *testing.B) {
	r := flight.New(nil)
	for b.Loop() {
		r.End(r.Begin(1, 0, 1, 7, 8), 8, false)
	}
}

func BenchmarkStartEnd(b *testing.B) {
	r := flight.New(nil)
	for b.Loop() {
		r.Start(flight.NewCall(1, 0, 1), 7, 8, 0).End(false)
	}
}

// TestNumbersTakenAhead uses two values of type Numbers, as two goroutines do. Both take numbers of operations
// in advance. The log must be full, except for the numbers that were taken in advance. After 1000 operations that
// use one value, the next operation that uses the other value must be in the log.
func TestNumbersTakenAhead(t *testing.T) {
	m := memory()
	r := flight.New(m)
	op := r.Text("barrier")
	var seldom, often flight.Numbers
	for call := range 20 {
		r.StartOf(&seldom, flight.NewCall(op, 0, -1), call, 0, 0).End(false)
		for range 1000 {
			r.StartOf(&often, flight.NewCall(op, flight.Contexts, -1), call, 0, 0).End(false)
		}
		r.StartOf(&seldom, flight.NewCall(op, 0, -1), 100+call, 0, 0)
		l := read(t, m)
		require.GreaterOrEqual(t, len(l.Operations), flight.Slots-3*8)
		found := false
		for _, o := range l.Operations {
			found = found || o.Communicator == 0 && o.Tag == 100+call && o.State == flight.Begun
			require.False(t, o.Communicator == 0 && o.Tag < 100+call && o.Tag >= 100, "of before")
		}
		require.True(t, found, "call %d is not there", call)
	}
}

// TestNumbersWithoutRecords checks that a number that was taken in advance is not listed before it is used.
// The same must hold for the first numbers, when the memory still contains zeros.
func TestNumbersWithoutRecords(t *testing.T) {
	m := memory()
	r := flight.New(m)
	op := r.Text("barrier")
	var ahead flight.Numbers
	for calls := 1; calls < 3*flight.Slots; calls++ {
		r.StartOf(&ahead, flight.NewCall(op, 0, -1), calls, 0, 0).End(false)
		l := read(t, m)
		require.LessOrEqual(t, len(l.Operations), min(calls, flight.Slots))
		for _, o := range l.Operations {
			require.Equal(t, "barrier", o.Op, "operation %d after %d calls", o.Number, calls)
		}
	}
}

// TestPlaceOfIsPlace checks that PlaceOf and Place return the same place for a stack. The same must hold if
// PlaceOf has looked up other stacks before.
func TestPlaceOfIsPlace(t *testing.T) {
	r := flight.New(memory())
	stacks := []callsite.Site{{}}
	for range 3 {
		stacks = append(stacks, here(), outer())
	}
	for range 2 {
		for i := range stacks {
			require.Equal(t, r.Place(stacks[i][:]), r.PlaceOf(&stacks[i]), "stack %d", i)
		}
	}
	require.NotZero(t, r.PlaceOf(&stacks[1]))
	require.NotEqual(t, r.PlaceOf(&stacks[1]), r.PlaceOf(&stacks[2]))
	require.Zero(t, testing.AllocsPerRun(100, func() { r.PlaceOf(&stacks[1]) }))
}

//go:noinline
func here() (s callsite.Site) {
	s.Note()
	return s
}

//go:noinline
func outer() callsite.Site { return here() }
