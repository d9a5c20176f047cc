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
	// patience ends a test that hangs. It is long enough for many jobs and other tests at the same time.
	patience = 5 * time.Minute
	// rounds is how often the ranks exchange all kinds of messages.
	rounds = 3
	// short and long are lengths in bytes. A short message is sent eagerly, a long message by
	// rendezvous.
	short, long = 40, 100 << 10
	// tag is the tag of messages between the victim and the rogue. last is the tag of a message
	// that nobody sends.
	tag, last = 1, 99
)

// told is a text that the bystander sends only to the victim.
var told = []byte("what only the victim is told, and nobody else has to learn of it")

// untouched is the contents of memory before a message arrives.
var untouched = bytes.Repeat([]byte{0xA7}, long)

// guarded is memory for a message. It lies between two pieces of memory that must not change.
type guarded struct{ all, part []byte }

func newGuarded(n int) guarded {
	all := slices.Concat(untouched[:n], untouched[:n], untouched[:n])
	return guarded{all, all[n : 2*n : 2*n]}
}

// intact reports whether the pieces around the message are unchanged.
func (g guarded) intact() bool {
	n := len(g.part)
	return bytes.Equal(g.all[:n], untouched[:n]) && bytes.Equal(g.all[2*n:], untouched[:n])
}

// converse exchanges messages of all kinds with a peer until the peer is lost. It returns how
// many operations succeeded, and the memory of the received messages. Errors are expected and
// ignored.
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

// attack runs a job with a malicious rank. It returns how many FPDUs were changed, and how many
// operations of the victim with the malicious rank succeeded.
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

// scripts returns scripts of one move each, of all kinds. The moves change the first FPDUs of a
// rank at the offsets where the layers have their headers. Only every step-th script is returned.
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

// heads returns scripts of one move each, which change the headers or the lengths of the first four messages. A
// message has 18 bytes of DDP, 16 bytes of the frame, 8 of the record, 24 of the engine's header, and the payload
// or an envelope.
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

// TestMaliciousRank checks that the other ranks continue to work whatever a rank sends. The
// malicious rank must not write to memory of the victim outside its messages, and must not learn
// the bystander's text.
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
				t.Parallel() // each attack mostly waits
				changed, _ := attack(t, script)
				all.Add(changed)
			})
		}
	})
	require.Positive(t, all.Load())
}

// TestHonestRank checks that every message arrives if no FPDU is changed. If messages are missing in the other
// tests, the reason is therefore a changed FPDU.
func TestHonestRank(t *testing.T) {
	changed, well := attack(t, nil)
	require.Zero(t, changed)
	require.Equal(t, rounds*2*2, well)
}

// FuzzMaliciousRank lets the fuzzer choose the moves.
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
