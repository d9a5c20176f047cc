package runtime_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// roundTrip sends n elements of type T to another rank and back.
func roundTrip[T any](t *testing.T, n int, make1 func(i int) T) {
	t.Helper()
	t.Run(fmt.Sprintf("%v/%d", reflect.TypeFor[T](), n), func(t *testing.T) {
		want := make([]T, n)
		for i := range want {
			want[i] = make1(i)
		}
		local(t, 2, func(c *runtime.Comm) {
			peer := 1 - c.Rank()
			if c.Rank() == 0 {
				require.NoError(t, runtime.Send(c, want, peer, n))
			}
			got := make([]T, n+1)
			s, err := runtime.Recv(c, got, peer, n)
			require.NoError(t, err)
			require.Equal(t, n, s.Count())
			require.Equal(t, peer, s.Source)
			require.Equal(t, n, s.Tag)
			require.Equal(t, want, got[:n])
			if c.Rank() == 1 {
				require.NoError(t, runtime.Ssend(c, got[:n], peer, n))
			}
		})
	})
}

// Blocking messages of many types and sizes arrive unchanged (MPICH's pt2pt/sendrecv1.c).
func TestManyTypesAndSizes(t *testing.T) {
	for _, n := range []int{0, 1, 7, 1000, 70000} {
		roundTrip(t, n, func(i int) byte { return byte(i) })
		roundTrip(t, n, func(i int) bool { return i%3 == 0 })
		roundTrip(t, n, func(i int) int16 { return int16(-i) })
		roundTrip(t, n, func(i int) uint32 { return uint32(i) << 8 })
		roundTrip(t, n, func(i int) int { return -i })
		roundTrip(t, n, func(i int) float32 { return float32(i) / 3 })
		roundTrip(t, n, func(i int) float64 { return float64(i) / 3 })
		roundTrip(t, n, func(i int) complex128 { return complex(float64(i), -1) })
		roundTrip(t, n, func(i int) [3]int32 { return [3]int32{int32(i), 2, 3} })
		roundTrip(t, n, func(i int) point { return point{float64(i), 1} })
		roundTrip(t, n, func(i int) padded { return padded{int64(i), 1, int32(i)} })
	}
}

// Two ranks send each other many messages, small and large, before either of them receives (MPICH's
// pt2pt/sendrecv3.c).
func TestHeadToHead(t *testing.T) {
	const flights = 32
	local(t, 2, func(c *runtime.Comm) {
		peer := 1 - c.Rank()
		for _, n := range sizes {
			var requests []runtime.Request
			for i := range flights {
				requests = append(requests, runtime.Isend(c, pattern(make([]byte, n), i), peer, i))
			}
			for i := range flights {
				got := make([]byte, n)
				_, err := runtime.Recv(c, got, peer, i)
				require.NoError(t, err)
				require.Equal(t, pattern(make([]byte, n), i), got)
			}
			require.NoError(t, runtime.WaitAll(requests))
		}
	})
}

// A flood of messages to one rank loses no message and keeps the order of each sender (MPICH's
// pt2pt/sendflood.c). The tests of the engine check the memory that a flood needs.
func TestFlood(t *testing.T) {
	const ranks, messages = 8, 2000
	local(t, ranks, func(c *runtime.Comm) {
		if c.Rank() > 0 {
			for i := range messages {
				require.NoError(t, runtime.Send(c, []int{i}, 0, 0))
			}
			return
		}
		next := make([]int, ranks)
		got := make([]int, 1)
		for range messages * (ranks - 1) {
			s, err := runtime.Recv(c, got, runtime.AnySource, 0)
			require.NoError(t, err)
			require.Equal(t, next[s.Source], got[0])
			next[s.Source]++
		}
	})
}

// floodOf sends many messages of type T. Rank 1 begins to receive them only after rank 0 has started
// all sends.
func floodOf[T any](t *testing.T, make1 func(i int) T) {
	t.Helper()
	const messages, bytes = 300, 4 << 20
	local(t, 2, func(c *runtime.Comm) {
		for _, n := range []int{0, 1, 200, 3000} {
			each := min(messages, bytes/max(1, n*int(reflect.TypeFor[T]().Size())))
			buf := make([]T, n)
			if c.Rank() == 0 {
				for i := range buf {
					buf[i] = make1(i)
				}
				requests := make([]runtime.Request, each)
				for i := range requests {
					requests[i] = runtime.Isend(c, buf[:n-min(n, i%3)], 1, i)
				}
				require.NoError(t, runtime.Send[byte](c, nil, 1, each))
				require.NoError(t, runtime.WaitAll(requests))
				continue
			}
			_, err := runtime.Recv[byte](c, nil, 0, each)
			require.NoError(t, err)
			for i := range each {
				clear(buf)
				s, err := runtime.Recv(c, buf, 0, i)
				require.NoError(t, err)
				require.Equal(t, n-min(n, i%3), s.Count())
				for k := range s.Count() {
					if any(buf[k]) != any(make1(k)) {
						require.Fail(t, "wrong element", "%d of message %d: %v", k, i, buf[k])
					}
				}
			}
		}
	})
}

// A flood of messages of several types and sizes arrives unchanged although no receive is posted
// (MPICH's pt2pt/pingping.c).
func TestFloodOfEveryType(t *testing.T) {
	floodOf(t, func(i int) byte { return byte(i) })
	floodOf(t, func(i int) int16 { return int16(i) })
	floodOf(t, func(i int) float32 { return float32(i) })
	floodOf(t, func(i int) int { return i })
	floodOf(t, func(i int) complex128 { return complex(1, float64(i)) })
	floodOf(t, func(i int) padded { return padded{int64(i), 1, int32(i)} })
}

// Every rank sends to every rank, and Status and contents of each message agree about its source
// (MPICH's pt2pt/sendall.c and pt2pt/many_isend.c).
func TestEveryRankToEveryRank(t *testing.T) {
	const ranks, n = 6, 2048 // messages of 16 KiB
	local(t, ranks, func(c *runtime.Comm) {
		for round := range 3 {
			mine := make([]int, n)
			for i := range mine {
				mine[i] = c.Rank()
			}
			var requests []runtime.Request
			for peer := range ranks {
				requests = append(requests, runtime.Isend(c, mine, peer, round))
			}
			seen := make([]bool, ranks)
			for range ranks {
				got := make([]int, n)
				s, err := runtime.Recv(c, got, runtime.AnySource, round)
				require.NoError(t, err)
				require.False(t, seen[s.Source])
				seen[s.Source] = true
				require.Equal(t, s.Source, got[0])
				require.Equal(t, s.Source, got[n-1])
			}
			require.NoError(t, runtime.WaitAll(requests))
		}
	})
}

// TagMax is at least the value that MPI guarantees, and a message can have that tag (MPICH's
// pt2pt/large_tag.c).
func TestLargestTag(t *testing.T) {
	require.GreaterOrEqual(t, runtime.TagMax, 32767)
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			require.NoError(t, runtime.Send(c, []int{7}, 1, runtime.TagMax))
			return
		}
		got := make([]int, 1)
		s, err := runtime.Recv(c, got, 0, runtime.TagMax)
		require.NoError(t, err)
		require.Equal(t, runtime.TagMax, s.Tag)
		require.Equal(t, 7, got[0])
	})
}

// Receives with wildcards get the messages of each sender in the order of the sends (MPICH's
// pt2pt/anyall.c and pt2pt/recv_any.c).
func TestWildcardsKeepOrder(t *testing.T) {
	const ranks, messages = 4, 200
	local(t, ranks, func(c *runtime.Comm) {
		if c.Rank() > 0 {
			for i := range messages {
				n := 1 + i*i%3000 // lengths for all protocols
				b := make([]int32, n)
				b[0], b[n-1] = int32(i), int32(i)
				require.NoError(t, runtime.Send(c, b, 0, i%7))
			}
			return
		}
		next := make([]int, ranks)
		got := make([]int32, 3000)
		for range messages * (ranks - 1) {
			s, err := runtime.Recv(c, got, runtime.AnySource, runtime.AnyTag)
			require.NoError(t, err)
			i := next[s.Source]
			next[s.Source]++
			require.EqualValues(t, i, got[0])
			require.EqualValues(t, i, got[s.Count()-1])
			require.Equal(t, i%7, s.Tag)
			require.Equal(t, 1+i*i%3000, s.Count())
		}
	})
}

// Large messages that are sent synchronously by several ranks are received from AnySource (MPICH's
// pt2pt/huge_anysrc.c and pt2pt/huge_ssend.c).
func TestLargeThroughAnySource(t *testing.T) {
	const ranks, n = 4, 1 << 20
	local(t, ranks, func(c *runtime.Comm) {
		if c.Rank() > 0 {
			require.NoError(t, runtime.Ssend(c, pattern(make([]byte, n), c.Rank()), 0, 0))
			return
		}
		for range ranks - 1 {
			got := make([]byte, n)
			s, err := runtime.Recv(c, got, runtime.AnySource, 0)
			require.NoError(t, err)
			require.Equal(t, pattern(make([]byte, n), s.Source), got)
		}
	})
}

// A message whose length does not fit in 32 bits arrives unchanged (MPICH's pt2pt/large_message.c
// and pt2pt/pt2pt_large.c).
func TestFiveGibibytes(t *testing.T) {
	if !soak() {
		t.Skip("needs GORUN_SOAK=1 and 12 GiB of memory")
	}
	const n = 5 << 30 / 8
	local(t, 2, func(c *runtime.Comm) {
		buf := make([]uint64, n)
		if c.Rank() == 0 {
			for i := range buf {
				buf[i] = uint64(i) * 0x9e3779b97f4a7c15
			}
			require.NoError(t, runtime.Send(c, buf, 1, 0))
			return
		}
		s, err := runtime.Recv(c, buf, 0, 0)
		require.NoError(t, err)
		require.Equal(t, n, s.Count())
		for i := range buf {
			if buf[i] != uint64(i)*0x9e3779b97f4a7c15 {
				require.Fail(t, "wrong word", "%d", i)
			}
		}
	})
}

// Thirty strided messages arrive unchanged although no receive is posted (MPICH's pt2pt/eagerdt.c).
func TestUnpostedStridedMessages(t *testing.T) {
	const count, rows, cols = 30, 40, 13
	column := runtime.Strided{Count: rows, Block: 1, Stride: cols}
	local(t, 2, func(c *runtime.Comm) {
		m := make([]float64, rows*cols)
		if c.Rank() == 0 {
			for k := range count {
				for i := range m {
					m[i] = float64(k*1000 + i)
				}
				require.NoError(t, runtime.SendStrided(c, m[k%cols:], runtime.Strided{
					Count: rows - 1, Block: 1, Stride: cols,
				}, 1, k))
			}
			require.NoError(t, runtime.Ssend[byte](c, nil, 1, count))
			return
		}
		_, err := runtime.Recv[byte](c, nil, 0, count)
		require.NoError(t, err)
		for k := range count {
			s, err := runtime.RecvStrided(c, m, column, 0, k)
			require.NoError(t, err)
			require.Equal(t, rows-1, s.Count())
			for i := range rows - 1 {
				require.InDelta(t, float64(k*1000+k%cols+i*cols), m[i*cols], 0)
			}
		}
	})
}

// SendRecvReplace exchanges messages in one buffer, even if the function of a NewRequest calls it
// (MPICH's pt2pt/isendrecv_replace.c).
func TestSendRecvReplaceAroundARing(t *testing.T) {
	const ranks = 5
	local(t, ranks, func(c *runtime.Comm) {
		right, left := (c.Rank()+1)%ranks, (c.Rank()+ranks-1)%ranks
		for _, n := range []int{1, 1000, 100000} {
			buf := make([]int, n)
			buf[0], buf[n-1] = c.Rank(), c.Rank()
			for range ranks {
				_, err := runtime.SendRecvReplace(c, buf, right, 0, left, 0)
				require.NoError(t, err)
			}
			require.Equal(t, c.Rank(), buf[0])
			require.Equal(t, c.Rank(), buf[n-1])
			later := runtime.NewRequest(c, func(c *runtime.Comm) error {
				return second(runtime.SendRecvReplace(c, buf, right, 1, left, 1))
			})
			require.NoError(t, runtime.WaitAll([]runtime.Request{later}))
			require.Equal(t, []int{left, left}, []int{buf[0], buf[n-1]})
		}
	})
}

// Operations with ProcNull complete at once, with no elements (MPICH's pt2pt/probenull.c and
// pt2pt/recvnull.c).
func TestProcNull(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		null := func(s runtime.Status, err error) {
			require.NoError(t, err)
			require.Equal(t, runtime.ProcNull, s.Source)
			require.Equal(t, runtime.AnyTag, s.Tag)
			require.Zero(t, s.Count())
		}
		buf := []int{42}
		require.NoError(t, runtime.Send(c, buf, runtime.ProcNull, 1))
		require.NoError(t, runtime.Ssend(c, buf, runtime.ProcNull, 1))
		require.NoError(t, runtime.WaitAll([]runtime.Request{
			runtime.Isend(c, buf, runtime.ProcNull, 1), runtime.Issend(c, buf, runtime.ProcNull, 1),
		}))
		null(runtime.Recv(c, buf, runtime.ProcNull, 1))
		null(runtime.Irecv(c, buf, runtime.ProcNull, runtime.AnyTag).Wait())
		null(runtime.Probe(c, runtime.ProcNull, 1))
		s, ok, err := runtime.Iprobe(c, runtime.ProcNull, 1)
		require.True(t, ok)
		null(s, err)
		null(runtime.SendRecv(c, buf, runtime.ProcNull, 1, []int{0}, runtime.ProcNull, 1))
		column := runtime.Strided{Count: 1, Block: 1, Stride: 1}
		require.NoError(t, runtime.SendStrided(c, buf, column, runtime.ProcNull, 1))
		null(runtime.RecvStrided(c, buf, column, runtime.ProcNull, 1))
		null(runtime.IrecvStrided(c, buf, column, runtime.ProcNull, 1).Wait())

		// In a chain of ranks, the first and the last one exchange with ProcNull.
		left, right := c.Rank()-1, c.Rank()+1
		if left < 0 {
			left = runtime.ProcNull
		}
		if right == c.Size() {
			right = runtime.ProcNull
		}
		got := []int{-1}
		_, err = runtime.SendRecv(c, []int{c.Rank()}, right, 0, got, left, 0)
		require.NoError(t, err)
		require.Equal(t, c.Rank()-1, got[0])
		require.Equal(t, 42, buf[0])
	})
}

// A receive into a buffer that is too short gets an error and the beginning of the message, and the
// next receive gets the next message.
func TestTruncationLosesNothingElse(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		for _, n := range []int{8, 1000, 200000} {
			if c.Rank() == 0 {
				require.NoError(t, runtime.Send(c, pattern(make([]byte, n), 1), 1, 4))
				require.NoError(t, runtime.Send(c, []int{n}, 1, 4))
				continue
			}
			got := make([]byte, n-1)
			_, err := runtime.Recv(c, got, 0, 4)
			var cut *runtime.TruncatedError
			require.ErrorAs(t, err, &cut)
			require.Equal(t, runtime.TruncatedError{Source: 0, Tag: 4, Sent: n, Room: n - 1}, *cut)
			require.Equal(t, pattern(make([]byte, n), 1)[:n-1], got)
			next := make([]int, 1)
			_, err = runtime.Recv(c, next, 0, 4)
			require.NoError(t, err)
			require.Equal(t, n, next[0])
		}
	})
}
