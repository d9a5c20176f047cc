package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/netip"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// ping runs the client. It connects to the server at the address to, does the rounds, and disconnects.
func ping(ctx context.Context, to netip.AddrPort, o *options, out *log.Logger) error {
	// The call connects a UDP socket, which sends nothing. The local address of the socket is the source
	// address of packets to the peer.
	probe, err := net.Dial("udp", to.String())
	if err != nil {
		return fmt.Errorf("no route to %v: %w", to, err)
	}
	from := netip.MustParseAddrPort(probe.LocalAddr().String()).Addr().Unmap()
	_ = probe.Close() // nothing was sent
	adapter, err := verbs.Open(provider(), from.String())
	if err != nil {
		return err
	}
	defer func() { _ = adapter.Close() }() // the error is ignored, because no work is outstanding
	l, err := newLink(adapter)
	if err != nil {
		return err
	}
	// The server posts RDMA Reads, one at a time. The client posts no RDMA Reads.
	param := verbs.ConnParam{ResponderResources: 1, InitiatorDepth: 0}
	if err := l.endpoint.Connect(to, verbs.ConnectOptions{Timeout: o.timeout, Param: &param}); err != nil {
		return err
	}
	if _, err := l.await(ctx, event); err != nil {
		return err
	}
	start := time.Now()
	for i := range uint32(o.count) {
		got, err := l.round(ctx, pattern(uint32(o.size), i))
		if err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
		if o.verbose {
			out.Printf("round %d: %d bytes came back: %q", i, o.size, shown(got))
		}
	}
	out.Printf("%d rounds of %d bytes verified, %v each", o.count, o.size, time.Since(start)/time.Duration(o.count))
	if err := l.endpoint.Disconnect(verbs.CloseGraceful); err != nil {
		return err
	}
	if _, err := l.await(ctx, event); !errors.Is(err, errEnded) {
		return fmt.Errorf("disconnect: %w", err)
	}
	return nil
}

// round executes a round at the client. It offers data, and returns the data that the server has written
// back.
func (l *link) round(ctx context.Context, data []byte) ([]byte, error) {
	source, err := l.domain.Register(data, verbs.AccessRemoteRead)
	if err != nil {
		return nil, err
	}
	sink, err := l.domain.Register(make([]byte, len(data)), verbs.AccessLocalWrite|verbs.AccessRemoteWrite)
	if err != nil {
		return nil, err
	}
	// The server first Reads the source, and later Writes to the sink. It reports each of these operations
	// with a message.
	for _, m := range []*verbs.MemoryRegion{source, sink} {
		at := m.Remote(0, len(data))
		if err := l.announce(announcement{Address: at.Address, Key: at.RKey, Length: uint32(len(data))}); err != nil {
			return nil, err
		}
		if _, err := l.hear(ctx); err != nil {
			return nil, err
		}
	}
	if !bytes.Equal(sink.Bytes(), data) {
		return nil, errors.New("what came back is not what was offered")
	}
	return sink.Bytes(), errors.Join(source.Close(), sink.Close()) // Close invalidates the keys
}
