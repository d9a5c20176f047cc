package malice_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

const (
	// patience ends a hang: of many jobs at a time, beside other tests.
	patience = 5 * time.Minute
	// rounds is how often the ranks exchange everything.
	rounds = 3
	// short is sent as it is, long by a rendezvous.
	short, long = 40, 100 << 10
	// tag is that of messages between the victim and the rogue, last of one that never comes.
	tag, last = 1, 99
)

// told is what the bystander tells the victim alone.
var told = []byte("what only the victim is told, and nobody else has to learn of it")

// untouched is what memory has before anything is written to it.
var untouched = bytes.Repeat([]byte{0xA7}, long)

// guarded is memory for a message between two pieces that nothing may be written to.
type guarded struct{ all, part []byte }

func newGuarded(n int) guarded {
	all := slices.Concat(untouched[:n], untouched[:n], untouched[:n])
	return guarded{all, all[n : 2*n : 2*n]}
}

// intact reports whether the pieces are as they were.
func (g guarded) intact() bool {
	n := len(g.part)
	return bytes.Equal(g.all[:n], untouched[:n]) && bytes.Equal(g.all[2*n:], untouched[:n])
}

// converse exchanges messages of all kinds with a peer until it is lost, and returns how many
// ended well and the memory that they came to. Errors are what is to be expected.
func converse(w *runtime.World, peer int) (well int, memory []guarded) {
	c := w.Comm()
	s, err := actors.OfConfig(w, actors.Config{Patience: time.Millisecond, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return 0, nil
	}
	_, _ = s.Spawn(actor.PropsFromFunc(func(actor.Context) {}), "target")
	out := make([]byte, long)
	lost := false
	note := func(err error) {
		var gone *runtime.PeerError
		lost = lost || errors.As(err, &gone)
		if err == nil {
			well++
		}
	}
	for range rounds {
		for _, n := range []int{short, long} {
			in := newGuarded(n)
			memory = append(memory, in)
			received, sent := runtime.Irecv(c, in.part, peer, tag), runtime.Isend(c, out[:n], peer, tag)
			s.Root.Send(s.PID(peer, "target"), "a message of an actor")
			_, err := received.Wait()
			note(err)
			_, err = sent.Wait()
			note(err)
		}
	}
	for !lost {
		_, err := runtime.Recv(c, make([]byte, 1), peer, last)
		note(err)
	}
	return well, memory
}

// attack runs a job with a malicious rank and returns how many FPDUs were changed, and how many
// operations of the victim with it ended well.
func attack(t *testing.T, script []byte) (changed int64, well int) {
	t.Helper()
	n := newNetwork(t, script, told)
	over := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		n.watch(over)
	}()
	job, err := localjob.Start(localjob.Config{Ranks: size, Network: n, Main: func(world any) error {
		w := world.(*runtime.World)
		c := w.Comm()
		secret := make([]byte, len(told))
		switch c.Rank() {
		case rogue:
			converse(w, victim)
			return nil
		case bystander:
			err := runtime.Send(c, told, victim, tag)
			if err == nil {
				_, err = runtime.Recv(c, secret[:1], victim, tag)
			}
			return err
		}
		if _, err := runtime.Recv(c, secret, bystander, tag); err != nil {
			return err
		}
		ended, memory := converse(w, rogue)
		well = ended
		for i, g := range memory {
			if !g.intact() {
				return fmt.Errorf("memory beside that of message %d was written to", i)
			}
		}
		if !bytes.Equal(secret, told) {
			return errors.New("memory that a message had come to was written to")
		}
		return runtime.Send(c, secret[:1], bystander, tag)
	}})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = job.Wait(ctx)
	if ctx.Err() != nil {
		require.NoError(t, err, job.Report())
	}
	require.NoError(t, err)
	close(over)
	<-watched
	require.False(t, n.in.leaked.Load() || n.out.leaked.Load(), "the malicious rank was told what is not for it")
	return n.in.changed.Load() + n.out.changed.Load(), well
}

// scripts are one move each: of all kinds, in all the first FPDUs of a rank and in the places
// where layers have their heads, in steps.
func scripts(step int) [][]byte {
	var list [][]byte
	i := 0
	for kind := range moveKinds {
		for number := range byte(24) {
			for _, offset := range []uint16{0, 1, 4, 12, 16, 18, 26, 27, 34, 38, 42, 44, 50, 58, 66, 74, 82, 90} {
				if i++; i%step == 0 {
					m := move{kind, number, offset, byte(i), byte(i * 7), uint16(i)}
					list = append(list, append(m.append(nil), told...))
				}
			}
		}
	}
	return list
}

// heads are moves in the first messages, one for each field: behind 18 bytes of DDP are 16 of
// the frame, 8 of the record, 24 of the engine's header, and the payload or an envelope.
func heads() [][]byte {
	var list [][]byte
	for number := range byte(4) {
		for _, m := range []move{
			{kind: moveFill, offset: 0, value: 0xff, length: 2},
			{kind: moveFlip, offset: 16, value: 0x40},
			{kind: moveFlip, offset: 25, value: 0x80},
			{kind: moveFlip, offset: 34, value: 0x80},
			{kind: moveFlip, offset: 38, value: 0x40},
			{kind: moveFlip, offset: 42, value: 0x10},
			{kind: moveFlip, offset: 43, value: 0x80},
			{kind: moveNumber, offset: 58, value: 4},
			{kind: moveNumber, offset: 66, value: 9},
			{kind: moveCut, offset: 60},
			{kind: moveExtend, value: 1, length: 8},
		} {
			m.number = number
			list = append(list, m.append(nil))
		}
	}
	return list
}

// TestMaliciousRank: whatever a rank sends, others serve each other, and nothing is written or
// told that is not to be.
func TestMaliciousRank(t *testing.T) {
	list := heads()
	switch {
	case os.Getenv("GORUN_SOAK") == "1":
		list = append(list, scripts(7)...)
	case testing.Short():
		list = list[:len(list)/4]
	default:
		list = list[:len(list)/2]
	}
	var all atomic.Int64
	t.Run("scripts", func(t *testing.T) {
		for i, script := range list {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel() // most of it is waiting
				changed, _ := attack(t, script)
				all.Add(changed)
			})
		}
	})
	require.Positive(t, all.Load())
}

// TestHonestRank: without a change every message comes, so that the moves concern all of them.
func TestHonestRank(t *testing.T) {
	changed, well := attack(t, nil)
	require.Zero(t, changed)
	require.Equal(t, rounds*2*2, well)
}

// FuzzMaliciousRank makes the moves up.
func FuzzMaliciousRank(f *testing.F) {
	if os.Getenv("GORUN_SOAK") == "1" {
		for _, script := range append(heads(), scripts(97)...) {
			f.Add(script)
		}
	}
	f.Add(move{kind: moveInsert, number: 1}.append(nil))
	f.Add(append(move{kind: moveInsert, number: 3}.append(nil), told...))
	f.Fuzz(func(t *testing.T, script []byte) { attack(t, script) })
}
