package bootstrap_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// frames collects the frames that a relay has sent up, each prefixed with a byte for its rank.
type frames struct {
	mu   sync.Mutex // guards list, because a timer of the relay also sends
	list [][]byte
}

func (f *frames) all() [][]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list)
}

// gathered returns a relay of ranks 0 to n-1 of a world of three, and the list of frames that it
// sends up.
func gathered(n int) (*bootstrap.Relay, *frames) {
	up := &frames{}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i
	}
	return bootstrap.NewRelay(3, ranks, func(rank int, f []byte) error {
		up.mu.Lock()
		defer up.mu.Unlock()
		up.list = append(up.list, append([]byte{byte(rank)}, f...))
		return nil
	}), up
}

// says makes the relay serve a connection of a rank. The given frames arrive on that connection.
func says(t *testing.T, r *bootstrap.Relay, rank int, frames ...[]byte) {
	t.Helper()
	require.NoError(t, r.Serve(rank, recorded{bytesOf(slices.Concat(frames...))}))
}

func card(tb testing.TB, rank int) []byte {
	tb.Helper()
	return frame(bootstrap.KindCard, encoded(tb, plainCard(rank)))
}

// heads returns the rank and kind of each frame.
func heads(frames [][]byte) (h [][2]byte) {
	for _, f := range frames {
		h = append(h, [2]byte(f))
	}
	return h
}

// A relay sends the cards of its node in one frame when the last card has arrived. The server accepts that
// frame once, and only for the ranks of the link.
func TestCardsOfANodeGoUpTogether(t *testing.T) {
	synctest.Test(t, cardsGoUpTogether) // the virtual time stands still, so that the relay's timer does not fire
}

func cardsGoUpTogether(t *testing.T) {
	r, up := gathered(3)
	for _, rank := range []int{2, 0} {
		says(t, r, rank, card(t, rank))
	}
	require.Empty(t, up.all())
	says(t, r, 1, card(t, 1))
	require.Equal(t, [][2]byte{{0, bootstrap.KindCards}}, heads(up.all()))
	var joined []int
	s := bootstrap.NewServer(3, func(e bootstrap.Event) { joined = append(joined, e.Rank) })
	s.Link([]int{0, 1, 2}, io.Discard)
	require.NoError(t, s.Take(0, up.all()[0][1:]))
	require.Equal(t, []int{0, 1, 2}, joined)
	require.ErrorIs(t, s.Take(0, up.all()[0][1:]), bootstrap.ErrMalformed, "second cards")
	other := bootstrap.NewServer(3, func(bootstrap.Event) {})
	other.Link([]int{0, 1}, io.Discard)
	require.ErrorIs(t, other.Take(0, up.all()[0][1:]), bootstrap.ErrMalformed, "a rank of the server's own node")
	require.ErrorIs(t, r.Serve(1, recorded{bytesOf(frame(bootstrap.KindCards, up.all()[0][2:]))}), bootstrap.ErrMalformed, "a rank has one card")
}

// Before all cards have arrived, a relay sends the gathered cards in three cases: before another frame of the
// node, when the missing ranks have ended, and after a timeout. It passes a wrong card up at once.
func TestCardsDoNotWaitForEver(t *testing.T) {
	report := frame(bootstrap.KindReport, []byte{0, 0, 0, 0, 'x'})
	r, up := gathered(3)
	says(t, r, 0, card(t, 0), report)
	says(t, r, 1, card(t, 1))
	r.Gone(2)
	require.Equal(t, [][2]byte{{0, bootstrap.KindCard}, {0, bootstrap.KindReport}, {1, bootstrap.KindCard}}, heads(up.all()))

	r, up = gathered(3)
	says(t, r, 0, card(t, 0))
	r.Gone(1)
	require.Empty(t, up.all(), "rank 2 has not ended")
	r.Gone(2)
	require.Equal(t, [][2]byte{{0, bootstrap.KindCard}}, heads(up.all()), "cards wait for no rank that is gone")

	r, up = gathered(2)
	says(t, r, 0, frame(bootstrap.KindCard, encoded(t, plainCard(1))))
	require.Equal(t, [][2]byte{{0, bootstrap.KindCard}}, heads(up.all()), "the server judges a wrong card")

	synctest.Test(t, func(t *testing.T) {
		r, up := gathered(3)
		says(t, r, 0, card(t, 0))
		says(t, r, 2, card(t, 2))
		require.Empty(t, up.all())
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, [][2]byte{{0, bootstrap.KindCards}}, heads(up.all()))
	})
}

// A relay accepts each book once. It refuses a truncated book, and a book with a damaged epoch, number of
// ranks or hash.
func TestBookOfAnotherHashOrEpoch(t *testing.T) {
	cards := [][]byte{encoded(t, richCard(0)), nil, encoded(t, plainCard(2))}
	book := bootstrap.AppendBook(nil, cards)
	whole, err := bootstrap.PackBook(book, cards, 0)
	require.NoError(t, err)
	r, _ := gathered(1)
	require.NoError(t, r.Tell(frame(bootstrap.KindPacked, whole)))
	require.ErrorIs(t, r.Tell(frame(bootstrap.KindPacked, whole)), bootstrap.ErrMalformed, "a book that was sent before")
	for n := range whole {
		r, _ = gathered(1)
		require.ErrorIs(t, r.Tell(frame(bootstrap.KindPacked, whole[:n])), bootstrap.ErrMalformed, "%d bytes", n)
		damaged := bytes.Clone(whole)
		damaged[n] ^= 1
		// After the hash, which ends at byte 40, the test permits the relay to accept a damaged book, because
		// some bits of a zstd frame do not influence the unpacked bytes, which the hash covers.
		if err := r.Tell(frame(bootstrap.KindPacked, damaged)); err != nil || n < 40 {
			require.ErrorIs(t, err, bootstrap.ErrMalformed, "byte %d", n)
		}
	}
}

// A relay accepts only a book with as many ranks as its world has.
func TestBookOfAnotherWorld(t *testing.T) {
	for size := range 6 {
		cards := make([][]byte, size)
		if size > 0 {
			cards[0] = encoded(t, plainCard(0))
		}
		whole, err := bootstrap.PackBook(bootstrap.AppendBook(nil, cards), cards, 0)
		require.NoError(t, err)
		r, _ := gathered(1)
		err = r.Tell(frame(bootstrap.KindPacked, whole))
		if size == 3 {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, bootstrap.ErrMalformed)
		require.ErrorContains(t, err, fmt.Sprintf("packed book 0 of %d ranks, want 0 of 3", size))
	}
}

// BenchmarkWireUp measures the exchange of the cards of 100,000 ranks on 1,000 nodes. All relays gather and
// pack cards, and the server joins the cards and packs the book. Only one node unpacks the book, because in a
// real job all nodes unpack the book at the same time.
func BenchmarkWireUp(b *testing.B) {
	const nodes, perNode = 1000, 100
	cards := cluster(b, nodes*perNode, perNode)
	frames := make([][]byte, len(cards))
	for rank := range cards {
		frames[rank] = frame(bootstrap.KindCard, cards[rank])
	}
	var down []byte
	up := 0
	for b.Loop() {
		down, up = nil, 0
		s := bootstrap.NewServer(len(cards), func(bootstrap.Event) {})
		relays := make([]*bootstrap.Relay, nodes)
		arrived := make(chan struct{}, 1)
		for node := range nodes {
			ranks := make([]int, perNode)
			for i := range ranks {
				ranks[i] = node*perNode + i
			}
			relays[node] = bootstrap.NewRelay(len(cards), ranks, func(rank int, f []byte) error { up += len(f); return s.Take(rank, f) })
			s.Link(ranks, writerFunc(func(p []byte) (int, error) {
				if node == 0 {
					down = p
					arrived <- struct{}{}
				}
				return len(p), nil
			}))
		}
		for rank, f := range frames {
			if err := relays[rank/perNode].Serve(rank, recorded{bytesOf(f)}); err != nil {
				b.Fatal(err)
			}
		}
		<-arrived
		if err := relays[0].Tell(down); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(up), "B-up")
	b.ReportMetric(float64(len(down)), "B-book")
	b.ReportMetric(float64(len(bootstrap.AppendBook(nil, cards))), "B/node")
}
