package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// account is a value that can be sent only through a codec.
type account struct {
	Owner  string
	Scores []int
	Notes  map[string][]string
	Parent *account
}

// accountOf returns an account whose encoding has at least n bytes.
func accountOf(n int) account {
	return account{
		Owner: strings.Repeat("o", n/2), Scores: []int{n, -n}, Notes: map[string][]string{"a": {"b", strings.Repeat("n", n/2)}},
		Parent: &account{Owner: "parent"},
	}
}

// Values of several types, with lengths around the limits between the protocols, arrive unchanged.
func TestValuesOfEveryLength(t *testing.T) {
	overTransports(t, 2, func(c *runtime.Comm) {
		for i, n := range sizes {
			if c.Rank() == 0 {
				require.NoError(t, runtime.SendValue(c, accountOf(n), 1, i))
				require.NoError(t, runtime.SendValue(c, map[int][]int{n: {1, n}}, 1, i))
				require.NoError(t, runtime.SendValue(c, pattern(make([]byte, n), i), 1, i))
				continue
			}
			got, s, err := runtime.RecvValue[account](c, 0, i)
			require.NoError(t, err)
			require.Equal(t, accountOf(n), got)
			require.Equal(t, [2]int{0, i}, [2]int{s.Source, s.Tag})
			require.Greater(t, s.Bytes, n-1)
			graph, _, err := runtime.RecvValue[map[int][]int](c, runtime.AnySource, runtime.AnyTag)
			require.NoError(t, err)
			require.Equal(t, map[int][]int{n: {1, n}}, graph)
			b, _, err := runtime.RecvValue[[]byte](c, 0, runtime.AnyTag)
			require.NoError(t, err)
			require.True(t, bytes.Equal(pattern(make([]byte, n), i), b))
		}
	})
}

// A value of 100 MiB, or of 10 MiB with -short, arrives unchanged.
func TestLongValue(t *testing.T) {
	words := make([]string, 100)
	for i := range words {
		words[i] = strings.Repeat(string(rune('a'+i%26)), 1<<20)
	}
	if testing.Short() {
		words = words[:10]
	}
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			require.NoError(t, runtime.SendValue(c, words, 1, 0))
			return
		}
		got, s, err := runtime.RecvValue[[]string](c, 0, 0)
		require.NoError(t, err)
		require.Equal(t, len(words), len(got))
		require.GreaterOrEqual(t, s.Bytes, len(words)<<20)
		for i := range words {
			require.True(t, words[i] == got[i], i)
		}
	})
}

// Values that several ranks send to one rank arrive with their source and in the order of each
// sender, although other messages arrive between them.
func TestValuesFromAnySource(t *testing.T) {
	const size, rounds = 5, 40
	overTransports(t, size, func(c *runtime.Comm) {
		if c.Rank() != 0 {
			for i := range rounds {
				require.NoError(t, runtime.SendValue(c, fmt.Sprintf("%d of %d", i, c.Rank()), 0, 1))
				require.NoError(t, runtime.Send(c, []int{i}, 0, 2))
			}
			return
		}
		var next [size]int
		for range rounds * (size - 1) {
			text, s, err := runtime.RecvValue[string](c, runtime.AnySource, 1)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("%d of %d", next[s.Source], s.Source), text)
			next[s.Source]++
		}
		for range rounds * (size - 1) {
			_, err := runtime.Recv(c, make([]int, 1), runtime.AnySource, 2)
			require.NoError(t, err)
		}
	})
}

// Two ranks start to send long values to each other before they receive. All operations complete.
func TestIsendValueHeadToHead(t *testing.T) {
	overTransports(t, 2, func(c *runtime.Comm) {
		v := map[int]string{c.Rank(): strings.Repeat("x", 1<<20)}
		r := runtime.IsendValue(c, v, 1-c.Rank(), 0)
		delete(v, c.Rank()) // v was encoded before, so it may change
		got, _, err := runtime.RecvValue[map[int]string](c, 1-c.Rank(), 0)
		require.NoError(t, err)
		require.Len(t, got[1-c.Rank()], 1<<20)
		_, err = r.Wait()
		require.NoError(t, err)
	})
}

type unlike struct{ X string }

// A receive of a value or message of another type returns an error that names both types. Later
// receives get the later messages.
func TestValueMismatches(t *testing.T) {
	overTransports(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			require.NoError(t, runtime.SendValue(c, unlike{"x"}, 1, 5))
			require.NoError(t, runtime.Send(c, []float64{1}, 1, 5))
			require.NoError(t, runtime.Send(c, []byte("raw"), 1, 5))
			require.NoError(t, runtime.SendValue(c, accountOf(3), 1, 5))
			require.NoError(t, runtime.SendValue(c, accountOf(4), 1, 5))
			return
		}
		for _, sent := range []string{"runtime_test.unlike (gob)", "elements of float64"} {
			_, s, err := runtime.RecvValue[account](c, 0, 5)
			var mismatch *runtime.TypeMismatchError
			require.ErrorAs(t, err, &mismatch)
			require.Contains(t, mismatch.Sent, sent)
			require.Contains(t, mismatch.Want, "runtime_test.account (gob)")
			require.Equal(t, [2]int{0, 5}, [2]int{mismatch.Source, mismatch.Tag})
			require.Equal(t, [2]int{0, 5}, [2]int{s.Source, s.Tag})
			require.ErrorContains(t, err, "value_test.go")
		}
		_, _, err := runtime.RecvValue[account](c, 0, 5)
		var bad *runtime.ValueError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, [3]any{"RecvValue", 0, 5}, [3]any{bad.Op, bad.Rank, bad.Tag})
		require.ErrorContains(t, err, "malformed")
		_, err = runtime.Recv(c, make([]float64, 1000), 0, 5)
		var mismatch *runtime.TypeMismatchError
		require.ErrorAs(t, err, &mismatch)
		require.Equal(t, "a value", mismatch.Sent)
		v, _, err := runtime.RecvValue[account](c, 0, 5)
		require.NoError(t, err)
		require.Equal(t, accountOf(4), v)
	})
}

// Wrong arguments, and values that cannot be encoded, are refused before anything is sent.
func TestValueArguments(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		loop := &account{}
		loop.Parent = loop
		var bad *runtime.ValueError
		err := runtime.SendValue(c, loop, 0, 3)
		require.ErrorAs(t, err, &bad)
		require.Equal(t, [3]any{"SendValue", 0, 3}, [3]any{bad.Op, bad.Rank, bad.Tag})
		require.Contains(t, bad.Type, "*github.com/gorun-hpc/gorun/runtime_test.account (gob)")
		_, err = runtime.IsendValue(c, func() {}, 0, 3).Wait()
		require.ErrorAs(t, err, &bad)
		require.ErrorIs(t, runtime.SendValue(c, 1, 1, 0), runtime.ErrRank)
		require.ErrorIs(t, runtime.SendValue(c, 1, 0, -2), runtime.ErrTag)
		require.ErrorIs(t, runtime.SendValue(nil, 1, 0, 0), runtime.ErrComm)
		_, err = runtime.IsendValue(c, 1, 7, 0).Wait()
		require.ErrorIs(t, err, runtime.ErrRank)
		_, _, err = runtime.RecvValue[int](c, 1, 0)
		require.ErrorIs(t, err, runtime.ErrRank)
		_, _, err = runtime.RecvValue[int](nil, 0, 0)
		require.ErrorIs(t, err, runtime.ErrComm)

		require.NoError(t, runtime.SendValue(c, loop, runtime.ProcNull, 0), "it is not encoded")
		v, s, err := runtime.RecvValue[*account](c, runtime.ProcNull, 0)
		require.NoError(t, err)
		require.Nil(t, v)
		require.Equal(t, runtime.ProcNull, s.Source)
		_, ok, err := runtime.Iprobe(c, runtime.AnySource, runtime.AnyTag)
		require.NoError(t, err)
		require.False(t, ok, "nothing was sent")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err = runtime.RecvValue[int](c.WithContext(ctx), 0, 0)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// RecvValue ends if the context.Context of its view ends. A later RecvValue gets the value that
// arrives afterwards.
func TestValueAfterACanceledReceive(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			_, err := runtime.Recv(c, make([]byte, 1), 1, 1)
			require.NoError(t, err)
			require.NoError(t, runtime.SendValue(c, "late", 1, 0))
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, _, err := runtime.RecvValue[string](c.WithContext(ctx), 0, 0)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, runtime.Send(c, []byte{1}, 0, 1))
		v, _, err := runtime.RecvValue[string](c, 0, 0)
		require.NoError(t, err)
		require.Equal(t, "late", v)
	})
}
