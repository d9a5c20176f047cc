package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"net/netip"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// serve is the server: it serves one client, until that disconnects.
func serve(ctx context.Context, at netip.AddrPort, verbose bool, out *log.Logger) error {
	adapter, err := verbs.Open(provider(), at.Addr().String())
	if err != nil {
		return err
	}
	defer func() { _ = adapter.Close() }() // nothing is left to be lost
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
	for rounds := 0; ; rounds++ {
		o, err := l.reflect(ctx, memory)
		switch {
		case errors.Is(err, errEnded):
			out.Printf("%d rounds verified", rounds)
			return nil
		case err != nil:
			return fmt.Errorf("after %d rounds: %w", rounds, err)
		case verbose:
			out.Printf("round %d: read and wrote %d bytes: %.32q", o.Round, o.Length, memory.Bytes())
		}
	}
}

// reflect does the server's part of a round.
func (l *link) reflect(ctx context.Context, memory *verbs.MemoryRegion) (o offer, err error) {
	c, err := l.await(ctx, verbs.OpReceive)
	if err != nil {
		return o, err
	}
	if _, err := binary.Decode(l.message.Bytes()[:c.Length], binary.BigEndian, &o); err != nil || o.Length > sizeMax {
		return o, fmt.Errorf("an offer of %d bytes in a message of %d", o.Length, c.Length)
	}
	data := memory.Segment(0, int(o.Length))
	err = l.endpoint.Post(&verbs.WorkRequest{
		Op: verbs.OpRead, Segments: []verbs.Segment{data}, RemoteAddress: o.SourceAddr, RKey: o.SourceKey,
	})
	if err != nil {
		return o, err
	}
	if _, err := l.await(ctx, verbs.OpRead); err != nil {
		return o, err
	}
	if !bytes.Equal(data.Data, pattern(o.Length, o.Round)) {
		return o, fmt.Errorf("round %d: what was read is not what a client offers", o.Round)
	}
	if err := l.expect(); err != nil {
		return o, err
	}
	// A Send behind a Write arrives when the Write is placed: that tells the client.
	// Neither makes a completion here; their places are free with the next Read's.
	_, err = l.endpoint.PostList([]verbs.WorkRequest{
		{Op: verbs.OpWrite, Flags: verbs.FlagUnsignalled, Segments: []verbs.Segment{data}, RemoteAddress: o.SinkAddr, RKey: o.SinkKey},
		{Op: verbs.OpSend, Flags: verbs.FlagUnsignalled},
	})
	return o, err
}
