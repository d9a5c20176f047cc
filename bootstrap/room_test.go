package bootstrap_test

import (
	"bytes"
	"encoding/binary"
	"net"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// allocated returns the number of bytes that all goroutines allocate on the heap while f runs.
func allocated(f func()) uint64 {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	f()
	goruntime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A session refuses a frame that is longer than the largest book of its world and the largest text together.
func TestAFrameIsAsLongAsTheWorldAllows(t *testing.T) {
	for name, c := range map[string]struct {
		size  int
		bytes uint32
		want  string
	}{
		"one rank":               {1, 80 << 10, "frame of 81920 bytes, at most "},
		"twenty ranks":           {20, 80 << 10, "unexpected EOF"},
		"twenty ranks, too long": {20, 200 << 10, "frame of 204800 bytes, at most "},
	} {
		t.Run(name, func(t *testing.T) {
			mine, theirs := net.Pipe()
			s := bootstrap.Attach(bootstrap.Job{Size: c.size, LocalSize: 1, Nodes: 1}, theirs, nil, [32]byte{})
			_, err := mine.Write(append(binary.LittleEndian.AppendUint32(nil, c.bytes), bootstrap.KindBook))
			require.NoError(t, err)
			require.NoError(t, mine.Close())
			n, ok := <-s.Notices()
			require.True(t, ok)
			require.Equal(t, bootstrap.AgentLost, n.Kind)
			require.Contains(t, n.Cause, c.want)
			_ = s.Finalize()
		})
	}
}

// A parser allocates little memory for a length that a peer announces, until the announced bytes arrive.
func TestLengthsThatAreLiesCostNoMemory(t *testing.T) {
	require.Less(t, allocated(func() {
		mine, theirs := net.Pipe()
		s := bootstrap.Attach(bootstrap.Job{Size: 12_000, LocalSize: 1, Nodes: 1}, theirs, nil, [32]byte{})
		_, err := mine.Write([]byte{0, 0, 0, 4, bootstrap.KindBook, 1, 2, 3}) // announces 64 MiB, as a book may
		require.NoError(t, err)
		require.NoError(t, mine.Close())
		for n := range s.Notices() {
			require.Contains(t, n.Cause, "unexpected EOF")
		}
		_ = s.Finalize()
	}), uint64(8<<20), "a frame")
	require.Less(t, allocated(func() {
		_, err := bootstrap.ParseRanks("0-16777214", 4, 1<<24)
		require.Error(t, err)
	}), uint64(1<<20), "a range of ranks")
	require.Less(t, allocated(func() {
		_, err := bootstrap.ParseBook([]byte{255, 255, 255, 0, 0, 0})
		require.Error(t, err)
	}), uint64(1<<20), "a book")
	// The vote is that of rank 0 on a communicator of 1<<24 - 1 members, which are one run.
	vote := bootstrap.PollFrame(0, bootstrap.Vote{Purpose: bootstrap.PurposeFlags, Members: []int{0}})
	members := binary.AppendUvarint([]byte{0, 1, 0}, 1<<24-2) // form, number of runs, gap, length - 1
	body := bytes.Replace(vote[1:], bootstrap.AppendRanks(nil, []int{0}), members, 1)
	frame := bootstrap.AppendFrame(nil, bootstrap.KindVote, body)
	require.NoError(t, bootstrap.ParsePoll(body, 1<<24))
	relay := bootstrap.NewRelay(2, []int{0, 1}, func(int, []byte) error { return nil })
	require.Less(t, allocated(func() {
		mine, theirs := net.Pipe()
		go func() {
			_, _ = mine.Write(frame)
			_ = mine.Close()
		}()
		require.ErrorIs(t, relay.Serve(0, theirs), bootstrap.ErrMalformed)
	}), uint64(1<<20), "members of another world")
}
