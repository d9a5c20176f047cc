package node_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// TestApart checks that Apart returns the same answer at both members.
func TestApart(t *testing.T) {
	var apart atomic.Int64
	run(t, node.Config{Size: 2}, func(_ int, g *node.Group) error {
		for range 3 {
			far, err := g.Apart()
			if err != nil {
				return err
			}
			if far {
				apart.Add(1)
			}
			if err := g.BarrierFlags(); err != nil {
				return err
			}
			if n := apart.Load(); n%2 != 0 {
				return fmt.Errorf("one member alone: %d", n)
			}
			if err := g.BarrierFlags(); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestPullsFaster checks that PullsFaster returns false at both members if reading is slow for at least one of
// them, or if one of them cannot read. If reads take no time, one of many calls must return true. No call may
// return an error.
func TestPullsFaster(t *testing.T) {
	slow := readerFunc(func(_ node.Process, _ uint64, _ []byte) error {
		time.Sleep(20 * time.Millisecond) // the time of a slow read
		return nil
	})
	atOnce := readerFunc(func(node.Process, uint64, []byte) error { return nil })
	for name, readers := range map[string][]node.Reader{
		"slow": {slow, slow}, "slow for member 0": {slow, atOnce}, "slow for member 1": {atOnce, slow}, "no reader": {atOnce, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range each(t, newRoom(2), readers, func(_ int, g *node.Group) error {
				if faster, err := g.PullsFaster(); faster || err != nil {
					return fmt.Errorf("reading is faster: %v, %w", faster, err)
				}
				return nil
			}) {
				require.NoError(t, err)
			}
		})
	}
	for _, err := range each(t, newRoom(2), []node.Reader{atOnce, atOnce}, func(_ int, g *node.Group) error {
		for range 1000 { // several attempts, because the scheduler may interrupt a member
			if faster, err := g.PullsFaster(); faster || err != nil {
				return err
			}
		}
		return errors.New("what takes no time is never faster")
	}) {
		require.NoError(t, err)
	}
}
