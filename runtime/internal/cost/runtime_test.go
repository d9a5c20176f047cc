package cost_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime"
)

// newComms makes the communicators of a World of two ranks. The functions of the ranks do not
// return until the test is over.
func newComms(tb testing.TB, discard bool, carried func()) [2]*runtime.Comm {
	tb.Helper()
	type member struct {
		rank int
		comm *runtime.Comm
	}
	w := newNetwork(tb, discard, carried)
	members, over := make(chan member), make(chan struct{})
	job, err := localjob.Start(localjob.Config{Ranks: 2, Network: w, Main: func(world any) error {
		c := world.(*runtime.World).Comm()
		members <- member{c.Rank(), c}
		<-over
		return nil
	}})
	require.NoError(tb, err)
	tb.Cleanup(func() {
		close(over)
		require.NoError(tb, job.Wait(context.Background()))
	})
	var comms [2]*runtime.Comm
	for range comms {
		m := <-members
		comms[m.rank] = m.comm
	}
	return comms
}

// tag is the tag of all messages.
const tag = 1

func runtimeMessages(tb testing.TB, n int, carried func()) *dialogue {
	tb.Helper()
	comms := newComms(tb, false, carried)
	d := &dialogue{}
	for i, c := range comms {
		buf, peer := make([]byte, n), 1-i
		d.send[i] = func() { check(runtime.Send(c, buf, peer, tag)) }
		d.flush[i] = func() {
			_, _, err := runtime.Iprobe(c, peer, tag)
			check(err)
		}
		var posted runtime.Request
		isPosted := false
		d.expect[i] = func() { posted, isPosted = runtime.Irecv(c, buf, peer, tag), true }
		d.receive[i] = func() {
			var err error
			if isPosted {
				isPosted = false
				_, err = posted.Wait()
			} else {
				_, err = runtime.Recv(c, buf, peer, tag)
			}
			check(err)
		}
	}
	return meet(d)
}

func runtimeReads(tb testing.TB, n, atOnce int) func() {
	tb.Helper()
	comms := newComms(tb, true, nil)
	c, of := comms[0], comms[1]
	out, in := make([]byte, n), make([]byte, n)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		check(runtime.Send(of, out[:1], 0, tag))
	}()
	_, err := runtime.Recv(c, in, 1, tag)
	check(err)
	<-sent
	sends, receives := make([]runtime.Request, atOnce), make([]runtime.Request, atOnce)
	return func() {
		for i := range sends {
			receives[i] = runtime.Irecv(c, in, 1, tag)
		}
		for i := range sends {
			sends[i] = runtime.Isend(of, out, 0, tag)
		}
		_, _, err := runtime.Iprobe(of, 0, tag)
		check(err)
		for _, r := range [][]runtime.Request{receives, sends} {
			for i := range r {
				_, err := r[i].Wait()
				check(err)
			}
		}
	}
}
