//go:build linux && !portable

package bootstrap_test

import (
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// counted counts the bytes that are written to a rank.
type counted struct {
	io.ReadWriter
	bytes *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return c.ReadWriter.Write(p)
}

// A rank reads the book from the memory of its node. The agent sends the rank only the length of the book.
func TestRankReadsTheBookOfItsNode(t *testing.T) {
	agent, socket, _, secret, job := inheritance(t)
	memory, each, shelf, err := bootstrap.SharedMemory(1, 1, 1)
	require.NoError(t, err)
	require.NotNil(t, shelf)
	defer func() { require.NoError(t, memory.Close()) }()
	job.NodeRange = each
	var told atomic.Int64
	server := bootstrap.NewServer(1, func(bootstrap.Event) {})
	server.Shelve(shelf)
	served := make(chan error, 1)
	go func() { served <- server.Serve(0, counted{agent, &told}) }()
	got := runRank(t, slices.Concat(job.Environ(), []string{bootstrap.EnvFDs + "=3,4,5"}), socket, memory, secret)
	require.NoError(t, socket.Close())
	require.NoError(t, <-served)
	require.Empty(t, got.Err)
	require.Equal(t, 1, got.Cards)
	require.EqualValues(t, 5+8, told.Load(), "bytes to the rank")
}

// A relay writes the book into the memory of its node, after the ranges of the ranks.
func TestShelfIsBehindTheRanges(t *testing.T) {
	memory, each, shelf, err := bootstrap.SharedMemory(2, 3, 1)
	require.NoError(t, err)
	defer func() { require.NoError(t, memory.Close()) }()
	cards := [][]byte{encoded(t, richCard(0)), nil, encoded(t, plainCard(2))}
	book := bootstrap.AppendBook(nil, cards)
	r, _ := gathered(2)
	r.Shelve(shelf)
	whole, err := bootstrap.PackBook(book, cards, 0)
	require.NoError(t, err)
	require.NoError(t, r.Tell(frame(bootstrap.KindPacked, whole)))
	got := make([]byte, len(book))
	_, err = memory.ReadAt(got, 2*each)
	require.NoError(t, err)
	require.Equal(t, book, got)
	st, err := memory.Stat()
	require.NoError(t, err)
	require.GreaterOrEqual(t, st.Size()-2*each, int64(len(book)))
}

// A session refuses the length of a book if it has no shelf for the book. It also refuses a frame that is too
// short for a length.
func TestSessionRefusesABookThatIsNotThere(t *testing.T) {
	for name, body := range map[string][]byte{"no shelf": {1, 0, 0, 0, 0, 0, 0, 0}, "short": {0, 0, 0, 0}} {
		mine, theirs := net.Pipe()
		s := bootstrap.Attach(bootstrap.Job{Size: 1, LocalSize: 1, Nodes: 1, ID: "j"}, theirs, nil, [32]byte{})
		go func() {
			_, _ = mine.Write(frame(bootstrap.KindShelved, body)) // the session may close before it has read all
			_ = mine.Close()
		}()
		n, ok := <-s.Notices()
		require.True(t, ok, name)
		require.Equal(t, bootstrap.AgentLost, n.Kind)
		require.Contains(t, n.Cause, "on a shelf of 0 bytes", name)
	}
}
