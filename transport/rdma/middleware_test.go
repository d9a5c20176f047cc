package rdma_test

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// TestMiddlewareOfTheProgram sets sender middleware in the root context of the actor system while a connection is in
// use. The test checks that the middleware sees no message of the actors of connections, so that it cannot change or
// hold back these messages.
func TestMiddlewareOfTheProgram(t *testing.T) {
	ranks := newWorld(t, memory(verbstest.StyleIWARP, 2), func(c *rdma.Config) { c.Idle = 2 * time.Millisecond }).ranks(t)
	require.NoError(t, drive(t, ranks, "send", func() error { return ranks[0].to(1).Send(transport.Header{}, nil) }))
	var seen atomic.Int64
	for _, r := range ranks {
		r.ActorSystem(slog.DiscardHandler).Root.WithSenderMiddleware(func(next actor.SenderFunc) actor.SenderFunc {
			return func(c actor.SenderContext, target *actor.PID, envelope *actor.MessageEnvelope) {
				seen.Add(1)
				next(c, target, envelope)
			}
		})
	}
	pump(t, ranks, "the end of the idle connection", func() bool {
		return strings.HasSuffix(ranks[0].Explain(1), ", not connected now") && strings.HasSuffix(ranks[1].Explain(0), ", not connected now")
	})
	closeAll(t, ranks)
	require.Zero(t, seen.Load())
}
