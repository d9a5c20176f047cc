package rdma_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// TestWornKeysAreReplaced has two ranks with an encrypted connection move more bytes than the keys of one
// connection may protect, with messages, Gets and Puts in both directions. The test checks that the ranks then make
// a new connection, that no operation fails, and that messages arrive in order. Ranks without encryption, and ranks
// that do not reach the limit, keep their connection.
func TestWornKeysAreReplaced(t *testing.T) {
	for name, sealed := range map[string]bool{"encrypted": true, "in clear": false} {
		t.Run(name, func(t *testing.T) { wear(t, sealed, sealed) })
	}
	t.Run("less than the limit", func(t *testing.T) { wear(t, true, false) })
}

func wear(t *testing.T, sealed, worn bool) {
	t.Helper()
	const length, rounds = 200 << 10, 20
	config := iwarp.Config{SealedMax: 1 << 20}
	if sealed && !worn {
		config.SealedMax = 1 << 30
	}
	w := newWorld(t, loopback(iwarp.New(config), 2), func(c *rdma.Config) { c.Recovery = patience })
	if sealed {
		w.encrypt(t)
	}
	ranks := w.ranks(t)
	targets, keys := [2][]byte{}, [2]transport.Key{}
	for i, k := range ranks {
		var err error
		targets[i] = make([]byte, length)
		keys[i], err = k.Expose(targets[i], transport.AccessRead|transport.AccessWrite)
		require.NoError(t, err)
	}
	stream(t, ranks, 0, 1, 10, 100, func() {})
	ways := map[string]bool{}
	source, dst := numbered(7, length), [2][]byte{make([]byte, length), make([]byte, length)}
	sent, ended, under := [2]uint64{ranks[1].next[0], 0}, 0, [2][2]uint64{}
	pump(t, ranks, "the operations", func() bool {
		for i, k := range ranks {
			e := k.to(1 - i)
			for at, begin := range []func(token uint64) error{
				func(token uint64) error { return e.Put(source, keys[1-i], token) },
				func(token uint64) error { return e.Get(dst[i], keys[1-i], token) },
			} {
				if under[i][at] != 0 {
					err, done := k.done[under[i][at]]
					require.NoError(t, err)
					if !done {
						continue
					}
					delete(k.done, under[i][at])
					ended++
				}
				under[i][at] = 0
				if token := k.token(); ended < 4*rounds && begin(token) == nil {
					under[i][at] = token
				}
			}
			if h := (transport.Header{A: sent[i], B: 40}); ended < 4*rounds && e.Send(h, numbered(sent[i], 40)) == nil {
				sent[i]++
			}
		}
		ways[way(ranks[0])] = true
		return ended >= 4*rounds && !slices.ContainsFunc(slices.Concat(under[0][:], under[1][:]), func(u uint64) bool { return u != 0 }) &&
			ranks[0].next[1] == sent[1] && ranks[1].next[0] == sent[0]
	})
	require.Equal(t, source, targets[0])
	require.Equal(t, source, targets[1])
	require.Equal(t, worn, len(ways) > 4, "the connections: %v", ways)
	require.Equal(t, worn, len(ways) > 2, "the connections: %v", ways)
	require.Empty(t, slices.Concat(ranks[0].downs, ranks[1].downs))
	closeAll(t, ranks)
}

// way returns the addresses of the connection between the two ranks, or "" if they have no connection.
func way(r *rank) string {
	_, from, _ := strings.Cut(r.Explain(1-r.number), "), ")
	from, _, _ = strings.Cut(from, ",")
	if !strings.Contains(from, " -> ") {
		return ""
	}
	return from
}

// TestWornByMessages checks that messages alone wear out the keys, whichever rank sends them.
func TestWornByMessages(t *testing.T) {
	for from := range 2 {
		w := newWorld(t, loopback(iwarp.New(iwarp.Config{SealedMax: 1 << 20}), 2), nil)
		w.encrypt(t)
		ranks := w.ranks(t)
		stream(t, ranks, from, 1-from, 10, 0, func() {})
		first := way(ranks[0])
		require.NotEmpty(t, first)
		stream(t, ranks, from, 1-from, 2000, 0, func() {}) // 5 MB in total
		pump(t, ranks, "another connection", func() bool { now := way(ranks[0]); return now != "" && now != first })
		stream(t, ranks, 1-from, from, 10, 0, func() {})
		require.Empty(t, slices.Concat(ranks[0].downs, ranks[1].downs))
		closeAll(t, ranks)
	}
}

// TestWornByGets checks that Gets alone wear out the keys, whichever rank begins them. The owner of the memory begins
// no operation.
func TestWornByGets(t *testing.T) {
	for from := range 2 {
		w := newWorld(t, loopback(iwarp.New(iwarp.Config{SealedMax: 1 << 20}), 2), nil)
		w.encrypt(t)
		ranks := w.ranks(t)
		reader, dst := ranks[from], make([]byte, 200<<10)
		key, err := ranks[1-from].Expose(make([]byte, len(dst)), transport.AccessRead)
		require.NoError(t, err)
		stream(t, ranks, from, 1-from, 10, 0, func() {})
		ways := map[string]bool{}
		for range 40 { // 8 MB
			token := reader.token()
			require.NoError(t, drive(t, ranks, "get", func() error { return reader.to(1-from).Get(dst, key, token) }))
			pump(t, ranks, "the get", func() bool { _, ended := reader.done[token]; return ended })
			require.NoError(t, reader.done[token])
			ways[way(reader)] = true
		}
		require.Greater(t, len(ways), 3, "Gets of rank %d", from)
		closeAll(t, ranks)
	}
}
