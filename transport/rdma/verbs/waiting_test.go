package verbs_test

import (
	"context"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// patience is the timeout of a test that would otherwise hang.
const patience = 30 * time.Second

// sleepers returns a play, with one endpoint of the test's provider (stage). The stage reports each Sleep on the
// channel asleep. The endpoint is in StateDisconnected, so that its posts complete at once.
func sleepers(t *testing.T) *play {
	t.Helper()
	p := newPlay(t, nil)
	p.connect(p.endpoint, p.actor, 1)
	p.NoError(p.endpoint.Disconnect(verbs.CloseAbrupt))
	p.poll()
	p.stage.asleep = make(chan time.Time)
	return p
}

// wait starts a Wait and returns the channel for its result.
func wait(q *verbs.CompletionQueue, threshold int) chan error {
	result := make(chan error, 1)
	go func() { result <- q.Wait(context.Background(), threshold) }()
	return result
}

func (p *play) post() { p.NoError(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpSend})) }

func TestSleeperIsWokenByAnotherGoroutine(t *testing.T) {
	p := sleepers(t)
	result := wait(p.queue, 2)
	require.Zero(t, <-p.stage.asleep, "no deadline")
	p.post()
	require.Empty(t, p.stage.awake, "one entry of two wakes nobody")
	p.post()
	p.NoError(<-result)
}

func TestSleeperLearnsOfADeadline(t *testing.T) {
	p := sleepers(t)
	ep, _ := p.make(nil)
	result := wait(p.queue, 1)
	require.Zero(t, <-p.stage.asleep)
	before := time.Now()
	p.NoError(ep.Connect(remote, verbs.ConnectOptions{Timeout: time.Hour}))
	until := <-p.stage.asleep // the sleeper wakes, and sleeps again until this deadline
	require.WithinRange(t, until, before.Add(time.Hour), time.Now().Add(time.Hour))
	p.NoError(ep.Disconnect(verbs.CloseAbrupt))
	p.NoError(<-result)
	p.Equal([]verbs.EventType{verbs.EventDisconnected}, p.events())
}

// TestParkedWaiterTakesTheSleepersPlace makes two goroutines wait. One of them sleeps in the kernel. When this
// goroutine returns from Wait, the other goroutine has to sleep in the kernel.
func TestParkedWaiterTakesTheSleepersPlace(t *testing.T) {
	p := sleepers(t)
	other, err := p.adapter.NewCompletionQueue(4)
	p.NoError(err)
	first := wait(p.queue, 1)
	<-p.stage.asleep
	second := wait(other, 1)
	for verbs.Parked(p.adapter) == 0 {
		goruntime.Gosched()
	}
	p.post()
	p.NoError(<-first)
	select {
	case <-p.stage.asleep: // the second goroutine sleeps
	case <-time.After(patience):
		t.Fatal("nobody sleeps in the kernel")
	}
	ep, a := p.make(func(c *verbs.EndpointConfig) { c.Connections = other })
	p.NoError(ep.Connect(remote, verbs.ConnectOptions{Timeout: verbs.TimeoutInfinite}))
	p.within(func() { a.Upcalls.Failed(provider.FailureRefused, nil, nil) })
	p.NoError(<-second)
}

func TestContextEndsTheSleep(t *testing.T) {
	p := sleepers(t)
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- p.queue.Wait(ctx, 1) }()
	<-p.stage.asleep
	cancel()
	p.ErrorIs(<-result, context.Canceled)
}

func TestCloseSeesSleepersOut(t *testing.T) {
	p := sleepers(t)
	result := wait(p.queue, 1)
	<-p.stage.asleep
	p.NoError(p.adapter.Close())
	p.ErrorIs(<-result, verbs.ErrClosed)
}

// TestSentrySleepsWhileArmed tests the sentry, the goroutine that sleeps in the kernel while a queue is armed.
func TestSentrySleepsWhileArmed(t *testing.T) {
	p := sleepers(t)
	rings := make(chan int, 4)
	p.True(p.queue.Arm(func() { rings <- 1 }))
	p.True(p.queue.Arm(func() { rings <- 2 }), "a later Arm replaces an earlier one")
	<-p.stage.asleep
	p.post()
	p.Equal(2, <-rings)
	p.False(p.queue.Arm(func() { rings <- 3 }), "something is queued")
	p.post()
	p.Empty(rings, "one Arm is one ring")
}

// TestFreeRings checks that the ring of an armed queue is called when the queue is freed, and that the goroutine of
// Arm then stops sleeping in the kernel.
func TestFreeRings(t *testing.T) {
	p := sleepers(t)
	q, err := p.adapter.NewCompletionQueue(1)
	p.NoError(err)
	rings := make(chan int, 2)
	p.True(q.Arm(func() { rings <- 1 }))
	<-p.stage.asleep
	p.NoError(q.Free())
	p.Equal(1, <-rings)
	result := wait(p.queue, 1)
	<-p.stage.asleep
	p.post()
	p.NoError(<-result)
	p.Empty(rings)
}

// TestDisarmedSentryLeavesTheSleepToWaiters checks that the goroutine of Arm stops sleeping in the kernel after
// Disarm, and that a goroutine in Wait sleeps in the kernel instead.
func TestDisarmedSentryLeavesTheSleepToWaiters(t *testing.T) {
	p := sleepers(t)
	p.True(p.queue.Arm(func() { t.Error("rung after Disarm") }))
	<-p.stage.asleep
	p.queue.Disarm()
	result := wait(p.queue, 1)
	<-p.stage.asleep
	p.post()
	p.NoError(<-result)
}
