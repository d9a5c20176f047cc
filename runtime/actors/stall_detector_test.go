package actors_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// records is a slog.Handler that sends the records to a channel.
type records chan slog.Record

func (r records) Enabled(_ context.Context, l slog.Level) bool       { return l >= slog.LevelWarn }
func (r records) Handle(_ context.Context, record slog.Record) error { r <- record; return nil }
func (r records) WithAttrs([]slog.Attr) slog.Handler                 { return r }
func (r records) WithGroup(string) slog.Handler                      { return r }

// TestInlineActorsThatWaitAreNamed checks that the log names an inline actor that waits for a
// message that cannot arrive, and names no other actor.
func TestInlineActorsThatWaitAreNamed(t *testing.T) {
	logged := make(records, 10)
	local(t, 2, actors.Config{Logger: slog.New(logged)}, func(all []*actors.System) {
		s := all[0]
		named := make(chan slog.Record, 1)
		props := actor.PropsFromFunc(func(c actor.Context) {
			switch c.Message().(type) {
			case int:
				c.Respond(c.Message())
			case string:
				select {
				case record := <-logged:
					named <- record
				case <-time.After(soon):
					close(named)
				}
			}
		}, s.Inline())
		for _, name := range []string{"before", "waits", "after"} {
			_, err := s.Spawn(props, name)
			require.NoError(t, err)
			ask(t, s, s.PID(0, name), 1)
		}
		s.Root.Send(s.PID(0, "waits"), "wait")
		ask(t, s, s.PID(0, "after"), 1) // this actor was only delayed
		record := next(t, named)
		require.Contains(t, record.Message, "ReenterAfter")
		var attributes []string
		record.Attrs(func(a slog.Attr) bool {
			attributes = append(attributes, a.String())
			return true
		})
		require.Contains(t, attributes, "actor=rank:0/waits")
		require.Empty(t, logged)
	})
}

// unread is a slog.Handler that blocks at every record until the test ends.
type unread struct {
	records
	logging, over chan struct{}
}

func (u unread) Handle(context.Context, slog.Record) error {
	u.logging <- struct{}{}
	<-u.over
	return nil
}

// TestStallDetectorWithABlockedLog checks that a blocked log does not prevent actors from being
// spawned.
func TestStallDetectorWithABlockedLog(t *testing.T) {
	logged := unread{logging: make(chan struct{}, 1), over: make(chan struct{})}
	local(t, 1, actors.Config{Logger: slog.New(logged)}, func(all []*actors.System) {
		defer close(logged.over)
		s := all[0]
		made := make(chan error, 1)
		waits := actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(string); !ok {
				return
			}
			next(t, logged.logging)

			_, err := s.Spawn(actor.PropsFromFunc(func(actor.Context) {}, s.Inline()), "other")
			made <- err
		}, s.Inline())
		pid, err := s.Spawn(waits, "waits")
		require.NoError(t, err)
		s.Root.Send(pid, "wait")
		require.NoError(t, next(t, made))
	})
}
