package collectives_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// With GORUN_CHECK=1, gorun reports two nonblocking operations in flight if one of them writes memory that
// the other one uses. It also reports a program that changes memory in use. It does not report correct uses.
func TestCheckOfNonblockingOperations(t *testing.T) {
	t.Setenv("GORUN_CHECK", "1")
	const one = `the memory of the nonblocking operation at check_test.go:`
	for name, tc := range map[string]struct {
		start func(c *runtime.Comm, a, b []int) []runtime.Request
		want  string // part of the error; "" for no error
	}{
		"two sums into one": {func(c *runtime.Comm, a, b []int) []runtime.Request {
			return []runtime.Request{collectives.IAllReduce(c, a[:2], b[:2], collectives.Sum), collectives.IAllReduce(c, a[2:4], b[1:3], collectives.Sum)}
		}, one},
		"a sum of what is received": {func(c *runtime.Comm, a, b []int) []runtime.Request {
			return []runtime.Request{collectives.IBcast(c, a[:1], 0), collectives.IAllReduce(c, a[:1], b[:1], collectives.Sum)}
		}, one},
		"two sums of one": {func(c *runtime.Comm, a, b []int) []runtime.Request {
			return []runtime.Request{collectives.IAllReduce(c, a[:2], b[:2], collectives.Sum), collectives.IAllReduce(c, a[:2], b[2:4], collectives.Max)}
		}, ""},
		"in place": {func(c *runtime.Comm, a, b []int) []runtime.Request {
			return []runtime.Request{collectives.IAllReduce(c, a, a, collectives.Sum), collectives.IBcast(c, b, 0)}
		}, ""},
		"results that a rank does not get": {func(c *runtime.Comm, a, b []int) []runtime.Request {
			all := b[:2]
			if c.Rank() == 0 {
				all = b[2:]
			}
			return []runtime.Request{collectives.IReduce(c, a[:2], b[:2], collectives.Sum, 0), collectives.IGather(c, a[:1], all, 0)}
		}, ""},
		"what a rank does not scatter": {func(c *runtime.Comm, a, b []int) []runtime.Request {
			return []runtime.Request{collectives.IBcast(c, a[:2], 0), collectives.IScatter(c, a[:2], b[:1], 0)}
		}, ""},
		"blocks between blocks": {func(c *runtime.Comm, a, b []int) []runtime.Request {
			ones := []int{1, 1}
			return []runtime.Request{
				collectives.IAllGatherV(c, a[:1], b, ones, []int{0, 2}), collectives.IAllGatherV(c, a[1:2], b, ones, []int{1, 3}),
			}
		}, ""},
		"changed": {func(c *runtime.Comm, a, b []int) []runtime.Request {
			r := collectives.IAllReduce(c, a, b, collectives.Sum)
			a[3] = 5
			return []runtime.Request{r}
		}, one},
	} {
		t.Run(name, func(t *testing.T) {
			if raceDetector && tc.want != "" {
				t.Skip("the mistake is a data race")
			}
			err := runtime.Local(2, func(w *runtime.World) error {
				return runtime.WaitAll(tc.start(w.Comm(), make([]int, 4), make([]int, 4)))
			})
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			var found *runtime.CheckError
			require.True(t, errors.As(err, &found), err)
			require.Contains(t, found.Error(), tc.want)
		})
	}
}
