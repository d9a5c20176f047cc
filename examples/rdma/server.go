package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net/netip"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// serve runs the server. It serves one client until this client disconnects.
func serve(ctx context.Context, at netip.AddrPort, verbose bool, out *log.Logger) error {
	adapter, err := verbs.Open(provider(), at.Addr().String())
	if err != nil {
		return err
	}
	defer func() { _ = adapter.Close() }() // the error is ignored, because no work is outstanding
	l, err := newLink(adapter)
	if err != nil {
		return err
	}
	memory, err := l.domain.Register(make([]byte, sizeMax), verbs.AccessLocalWrite)
	if err != nil {
		return err
	}
	listener, err := adapter.Listen(verbs.ListenOptions{Address: at, Queue: l.queue, Backlog: 1})
	if err != nil {
		return err
	}
	out.Printf("listening at %v", listener.Address())
	c, err := l.await(ctx, event)
	if err != nil {
		return err
	}
	if err := errors.Join(listener.Close(), l.expect(), c.Event.Request.Accept(l.endpoint, nil)); err != nil {
		return err
	}
	for round := uint32(0); ; round++ {
		data, err := l.reflect(ctx, memory, round)
		switch {
		case errors.Is(err, errEnded):
			out.Printf("%d rounds verified", round)
			return nil
		case err != nil:
			return fmt.Errorf("after %d rounds: %w", round, err)
		case verbose:
			out.Printf("round %d: read and wrote %d bytes: %q", round, len(data), shown(data))
		}
	}
}

// reflect executes a round at the server. It reads the data of the client, writes the data back, and returns
// them.
func (l *link) reflect(ctx context.Context, memory *verbs.MemoryRegion, round uint32) ([]byte, error) {
	source, err := l.hear(ctx)
	if err != nil {
		return nil, err
	}
	if source.Length < 1 || source.Length > sizeMax {
		return nil, fmt.Errorf("round %d: a source of %d bytes is announced", round, source.Length)
	}
	data := memory.Segment(0, int(source.Length))
	err = l.endpoint.Post(&verbs.WorkRequest{
		Op: verbs.OpRead, Segments: []verbs.Segment{data}, RemoteAddress: source.Address, RKey: source.Key,
	})
	if err != nil {
		return nil, err
	}
	if _, err := l.await(ctx, verbs.OpRead); err != nil {
		return nil, err
	}
	if !bytes.Equal(data.Data, pattern(source.Length, round)) {
		return nil, fmt.Errorf("round %d: what was read is not what a client announces", round)
	}
	if err := l.announce(announcement{}); err != nil {
		return nil, err
	}
	sink, err := l.hear(ctx)
	if err != nil {
		return nil, fmt.Errorf("round %d: %w", round, err)
	}
	if sink.Length < source.Length {
		return nil, fmt.Errorf("round %d: a sink of %d bytes is announced for %d", round, sink.Length, source.Length)
	}
	err = l.endpoint.Post(&verbs.WorkRequest{
		Op: verbs.OpWrite, Flags: verbs.FlagUnsignalled, Segments: []verbs.Segment{data}, RemoteAddress: sink.Address, RKey: sink.Key,
	})
	if err != nil {
		return nil, err
	}
	// A Send that is posted after a Write is delivered after the data of the Write is placed. For this
	// reason, this message tells the client that the data is in its memory.
	return data.Data, l.announce(announcement{})
}
