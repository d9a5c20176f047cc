package runtime_test

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// The result of a request is returned once, even if the request was copied. A request whose result
// was returned does not affect the next operation, for which the engine uses the same record.
func TestResultIsTakenOnce(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		got := make([]int, 2)
		for name, take := range map[string]func(r runtime.Request) (runtime.Status, error){
			"Wait": runtime.Request.Wait,
			"Test": func(r runtime.Request) (runtime.Status, error) {
				s, ok, err := r.Test()
				require.True(t, ok)
				return s, err
			},
			"WaitAny": func(r runtime.Request) (runtime.Status, error) {
				i, s, err := runtime.WaitAny([]runtime.Request{r})
				require.Zero(t, i)
				return s, err
			},
			"TestAny": func(r runtime.Request) (runtime.Status, error) {
				i, s, ok, err := runtime.TestAny([]runtime.Request{{}, r})
				require.True(t, ok)
				require.Equal(t, 1, i)
				return s, err
			},
			"WaitSome": func(r runtime.Request) (runtime.Status, error) {
				ended, err := runtime.WaitSome([]runtime.Request{r})
				require.NoError(t, err)
				require.Len(t, ended, 1)
				return ended[0].Status, ended[0].Err
			},
		} {
			old := runtime.Irecv(c, got[:1], 0, 3)
			require.NoError(t, runtime.Send(c, []int{8}, 0, 3))
			s, err := take(old)
			require.NoError(t, err, name)
			require.Equal(t, 3, s.Tag, name)

			next := runtime.Irecv(c, got[1:], 0, 4)
			old.Cancel()
			require.True(t, old.Done(), name)
			empty, err := old.Wait()
			require.NoError(t, err, name)
			require.Equal(t, runtime.AnyTag, empty.Tag, name)
			_, ok, err := old.Test()
			require.NoError(t, err, name)
			require.True(t, ok, name)
			require.NoError(t, runtime.WaitAll([]runtime.Request{old, old}), name)
			i, _, err := runtime.WaitAny([]runtime.Request{old})
			require.NoError(t, err, name)
			require.Equal(t, runtime.Undefined, i, name)
			i, _, ok, err = runtime.TestAny([]runtime.Request{old})
			require.NoError(t, err, name)
			require.True(t, ok, name)
			require.Equal(t, runtime.Undefined, i, name)
			require.False(t, next.Done(), name)

			require.NoError(t, runtime.Send(c, []int{9}, 0, 4))
			i, s, err = runtime.WaitAny([]runtime.Request{old, next})
			require.NoError(t, err, name)
			require.Equal(t, 1, i, name)
			require.Equal(t, 4, s.Tag, name)
		}
	})
}

// A request may be complete as soon as it is started. WaitAny, TestAny and WaitSome return each such
// request exactly once. WaitAll and TestAll return the errors of such requests.
func TestEarlyRequests(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		peer := 1 - c.Rank()
		all := func() []runtime.Request {
			return []runtime.Request{
				runtime.Isend(c, []int{1}, peer, 0),
				runtime.Irecv(c, make([]int, 1), runtime.ProcNull, 0),
				{},
				runtime.Isend(c, []int{1}, runtime.ProcNull, 0),
				runtime.Isend(c, []int{1}, 5, 0),
				runtime.Irecv(c, make([]int, 1), peer, 0),
			}
		}
		check := func(i int, s runtime.Status, err error) {
			switch i {
			case 1:
				require.Equal(t, runtime.ProcNull, s.Source)
			case 4:
				require.ErrorIs(t, err, runtime.ErrRank)
				return
			case 5:
				require.Equal(t, peer, s.Source)
				require.Equal(t, 1, s.Count())
			default:
			}
			require.NoError(t, err)
		}
		for name, next := range map[string]func(rs []runtime.Request) []int{
			"WaitAny": func(rs []runtime.Request) []int {
				i, s, err := runtime.WaitAny(rs)
				check(i, s, err)
				return []int{i}
			},
			"TestAny": func(rs []runtime.Request) []int {
				for {
					if i, s, ok, err := runtime.TestAny(rs); ok {
						check(i, s, err)
						return []int{i}
					}
				}
			},
			"WaitSome": func(rs []runtime.Request) (which []int) {
				ended, err := runtime.WaitSome(rs)
				require.NoError(t, err)
				for _, e := range ended {
					check(e.Index, e.Status, e.Err)
					which = append(which, e.Index)
				}
				return which
			},
		} {
			rs := all()
			var which []int
			for len(which) < 5 {
				which = append(which, next(rs)...)
			}
			require.ElementsMatch(t, []int{0, 1, 3, 4, 5}, which, name)
			require.Equal(t, make([]runtime.Request, 6), rs, name)
		}
		for _, next := range []func([]runtime.Request) error{
			runtime.WaitAll,
			func(rs []runtime.Request) error {
				for {
					if ok, err := runtime.TestAll(rs); ok {
						return err
					}
				}
			},
		} {
			rs := all()
			require.ErrorIs(t, next(rs), runtime.ErrRank)
			require.Equal(t, make([]runtime.Request, 6), rs)
			require.NoError(t, next(rs)) // all results were returned
		}
	})
}

// The buffer of a dropped request is freed after the request is complete.
func TestDroppedRequestIsCollected(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		freed := make(chan struct{})
		func() {
			buf := new([1 << 10]int)
			goruntime.AddCleanup(buf, func(freed chan struct{}) { close(freed) }, freed)
			runtime.Irecv(c, buf[:], 0, 1)
		}()
		require.NoError(t, runtime.Send(c, []int{1}, 0, 1))
		for {
			goruntime.GC()
			select {
			case <-freed:
				return
			default:
			}
		}
	})
}
