package virtual_test

import (
	"errors"
	"fmt"
	"math"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/virtual"
)

// uniform is the model of most tests.
var uniform = uniformModel(alpha, beta, gamma)

// uniformModel returns the model in which package message states the costs of its algorithms: a message of
// n bytes takes alpha + n*beta ns, combining n bytes takes n*gamma ns, and all other work takes no
// time.
func uniformModel(alpha, beta, gamma float64) virtual.Model {
	level := virtual.Level{{Latency: alpha, PerByte: beta}}
	return virtual.Model{Node: level, Network: level, Combine: gamma}
}

// waitsForNext is a wrong algorithm: every rank receives from the next rank before it sends.
func waitsForNext(r *virtual.Rank) error {
	next, prev := (r.Rank()+1)%r.Size(), (r.Rank()+r.Size()-1)%r.Size()
	if err := r.Recv(next, make([]byte, 8)); err != nil {
		return err
	}
	return r.Send(prev, make([]byte, 8))
}

// TestDeadlock checks that a wrong algorithm ends with a report of the ranks that wait and of the
// ranks that they wait for.
func TestDeadlock(t *testing.T) {
	_, err := virtual.Run(virtual.Setup{Ranks: 3, Model: uniform, Payload: true}, waitsForNext)
	var deadlock *virtual.DeadlockError
	require.ErrorAs(t, err, &deadlock)
	require.Equal(t, []virtual.Wait{{Rank: 0, Peer: 1, Bytes: 8}, {Rank: 1, Peer: 2, Bytes: 8}, {Rank: 2, Peer: 0, Bytes: 8}}, deadlock.Waits)
	require.EqualError(t, err, "deadlock: 3 of 3 ranks wait, 0 have ended; rank 0 waits for 8 bytes from rank 1; "+
		"rank 1 waits for 8 bytes from rank 2; rank 2 waits for 8 bytes from rank 0")

	_, err = virtual.Run(virtual.Setup{Ranks: 100, Model: uniform}, waitsForNext)
	require.ErrorContains(t, err, "; and 84 more")
}

// TestSendsThatWait lets two ranks first send to each other and then receive. This program is right
// only if sends do not wait for the receiver.
func TestSendsThatWait(t *testing.T) {
	body := func(r *virtual.Rank) error {
		peer := r.Rank() ^ 1
		return errors.Join(r.Send(peer, make([]byte, 8)), r.Recv(peer, make([]byte, 8)))
	}
	waits := virtual.Model{Network: virtual.Level{{Rendezvous: true}}}
	_, err := virtual.Run(virtual.Setup{Ranks: 2, Model: uniform}, body)
	require.NoError(t, err)
	_, err = virtual.Run(virtual.Setup{Ranks: 2, Model: waits}, body)
	require.EqualError(t, err, "deadlock: 2 of 2 ranks wait, 0 have ended; rank 0 waits until rank 1 receives 8 bytes; rank 1 waits until rank 0 receives 8 bytes")
}

// TestWrongBodies checks the errors of bodies that are wrong, but end without a deadlock.
func TestWrongBodies(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name string
		body func(r *virtual.Rank) error
		says string
	}{
		{"a message is left over", func(r *virtual.Rank) error {
			if r.Rank() == 2 {
				return r.Send(1, make([]byte, 5))
			}
			return nil
		}, "all ranks have ended, and rank 1 has not received 5 bytes from rank 2 (1 lanes hold messages)"},
		{"lengths differ", func(r *virtual.Rank) error {
			switch r.Rank() {
			case 0:
				return r.Send(1, make([]byte, 5))
			case 1:
				return r.Recv(0, make([]byte, 6))
			}
			return nil
		}, "rank 1 of 3: rank 0 sent 5 bytes to rank 1, which receives 6"},
		{"no such receiver", func(r *virtual.Rank) error { return r.Send(3, nil) }, "rank 0 sends to rank 3 of 3"},
		{"no such sender", func(r *virtual.Rank) error { return r.Recv(-1, nil) }, "rank 0 receives from rank -1 of 3"},
		{"an error", func(r *virtual.Rank) error {
			if r.Rank() == 1 {
				return boom
			}
			return r.Recv(1, nil)
		}, "rank 1 of 3: boom"},
		{"too many messages", func(r *virtual.Rank) error {
			for {
				if err := r.Exchange((r.Rank()+1)%3, nil, (r.Rank()+2)%3, nil); err != nil {
					return err
				}
			}
		}, "too many messages to simulate: 3 ranks send more than 1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := goruntime.NumGoroutine()
			_, err := virtual.Run(virtual.Setup{Ranks: 3, Model: uniform, MessagesMax: 1000}, c.body)
			require.ErrorContains(t, err, c.says)
			require.LessOrEqual(t, goruntime.NumGoroutine(), before)
		})
	}
}

// TestUntouchable checks that, without payload, only the Peer and its Reduction can access buffers.
func TestUntouchable(t *testing.T) {
	body := func(touch func(b []byte)) func(r *virtual.Rank) error {
		return func(r *virtual.Rank) error {
			touch(r.Scratch(1 << 40))
			return nil
		}
	}
	run := func(touch func(b []byte)) error {
		_, err := virtual.Run(virtual.Setup{Ranks: 2, Model: uniform}, body(touch))
		return err
	}
	if err := run(func([]byte) {}); err != nil {
		t.Skip("no address space without memory:", err)
	}
	require.ErrorIs(t, run(func(b []byte) { b[1<<39] = 1 }), virtual.ErrTouched)
	var read byte
	require.ErrorIs(t, run(func(b []byte) { read = b[1] }), virtual.ErrTouched)
	require.Zero(t, read)
	_, err := virtual.Run(virtual.Setup{Ranks: 2, Model: uniform}, func(r *virtual.Rank) error {
		b := r.Scratch(1 << 40)
		r.Copy(b[:1<<39], b[1<<39:])
		r.Reduction(sum).Fn(b, b, b)
		return r.Exchange(r.Rank()^1, b, r.Rank()^1, b)
	})
	require.NoError(t, err)
	require.Panics(t, func() {
		_ = run(func([]byte) {
			var none *virtual.Wait
			none.Rank = 1
		})
	}, "a defect of another kind")
}

func TestInvalidModels(t *testing.T) {
	ok := virtual.Level{{Latency: 1}}
	for says, m := range map[string]virtual.Model{
		"network has no segments":              {},
		"node has no segments":                 {Network: ok, RanksPerNode: 2},
		"ranksPerNode is -1":                   {Network: ok, RanksPerNode: -1},
		"processors is -2":                     {Network: ok, Processors: -2},
		"combine is NaN":                       {Network: ok, Combine: math.NaN()},
		"copy is -1":                           {Network: ok, Copy: -1},
		"visit is +Inf":                        {Network: ok, Visit: math.Inf(1)},
		"miss is -2":                           {Network: ok, Miss: -2},
		"cache is -1 bytes":                    {Network: ok, Cache: -1},
		"segment 0 of network: invalid model":  {Network: virtual.Level{{Latency: -3}}},
		"perByte is 1e+10":                     {Network: virtual.Level{{PerByte: 1e10}}},
		"segment 1 of network has most 8":      {Network: virtual.Level{{Most: 8}, {Most: 8}, {}}},
		"(0) of network has most 9":            {Network: virtual.Level{{Most: 9}}},
		"segment 0 of network has most 0":      {Network: virtual.Level{{}, {}}},
		"segment 0 of network has most -1":     {Network: virtual.Level{{Most: -1}, {}}},
		"(0) of processor has most 7":          {Network: ok, Processor: virtual.Level{{Most: 7}}},
		"handshake 1, but rendezvous is false": {Network: virtual.Level{{Handshake: 1}}},
	} {
		err := m.Validate()
		require.ErrorIs(t, err, virtual.ErrModel, says)
		require.ErrorContains(t, err, says)
		_, err = virtual.Run(virtual.Setup{Ranks: 2, Model: m}, func(*virtual.Rank) error { return nil })
		require.ErrorIs(t, err, virtual.ErrModel, says)
	}
	_, err := virtual.Run(virtual.Setup{Model: uniform}, nil)
	require.EqualError(t, err, "simulation of 0 ranks: at least one is needed")
	_, err = virtual.Run(virtual.Setup{Ranks: 2, Model: uniformModel(1e9, 1e9, 0)}, func(r *virtual.Rank) error {
		for range 100 {
			if err := r.Exchange(r.Rank()^1, r.Scratch(1<<30), r.Rank()^1, r.Scratch(1<<30)); err != nil {
				return fmt.Errorf("exchange: %w", err)
			}
		}
		return nil
	})
	require.ErrorContains(t, err, "25 days of virtual time")
}
