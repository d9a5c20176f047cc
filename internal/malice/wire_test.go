package malice_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// startupHead is the length of the part of an MPA frame that precedes the private data.
	startupHead = 20
	// honest is the number of FPDUs at the start of a connection that stay unchanged: the RTR and the proof
	// of the job's secret. Without them, the victim refuses the connection.
	honest = 2
	// quiet is the time without data after which the wire is cut. The cut ends the waits for messages that
	// were dropped.
	quiet = 25 * time.Millisecond
	// While no FPDU has been changed yet, the wire is cut only after the time quietTimes*quiet.
	quietTimes = 40
)

// wire carries the connections between the malicious rank and another rank, and changes what the
// malicious rank sends.
type wire struct {
	listener net.Listener
	to       func() netip.AddrPort
	// from is true if the malicious rank connects through the wire, and false if the other rank does.
	from  bool
	moves []move
	raw   []byte
	// told is the text that must not pass to the malicious rank.
	told []byte

	// passed grows whenever data pass through the wire, in either direction. changed counts the changed FPDUs.
	passed, changed atomic.Int64
	leaked          atomic.Bool

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
	done  sync.WaitGroup
}

func newWire(tb testing.TB, to func() netip.AddrPort, from bool) *wire {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	w := &wire{listener: l, to: to, from: from}
	return w
}

// start starts to accept connections.
func (w *wire) start() { w.done.Go(w.accept) }

func (w *wire) address() netip.AddrPort { return w.listener.Addr().(*net.TCPAddr).AddrPort() }

// keep stores a connection, so that sever closes it. After sever, keep closes the connection and returns
// false.
func (w *wire) keep(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		_ = c.Close()
		return false
	}
	w.conns = append(w.conns, c)
	return true
}

// sever closes all connections and the listener.
func (w *wire) sever() {
	w.mu.Lock()
	w.cut = true
	_ = w.listener.Close()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
}

func (w *wire) accept() {
	for {
		in, err := w.listener.Accept()
		if err != nil {
			return
		}
		if !w.keep(in) {
			return
		}
		out, err := net.Dial("tcp", w.to().String())
		if err != nil {
			_ = in.Close()
			continue
		}
		if !w.keep(out) {
			return
		}
		bad, good := in, out
		if !w.from {
			bad, good = out, in
		}
		w.done.Go(func() { w.honestly(bad, good) })
		w.done.Go(func() { w.maliciously(good, bad) })
	}
}

// honestly forwards the data for the malicious rank unchanged, and looks for the text in them.
func (w *wire) honestly(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 64<<10)
	held := 0
	for {
		n, err := from.Read(b[held:])
		w.passed.Add(int64(n))
		if _, e := to.Write(b[held : held+n]); e != nil || err != nil {
			return
		}
		if bytes.Contains(b[:held+n], w.told) {
			w.leaked.Store(true)
		}
		held = copy(b, b[held+n-min(held+n, len(w.told)):held+n])
	}
}

// maliciously forwards what the malicious rank sends, FPDU by FPDU, with the changes of the
// script.
func (w *wire) maliciously(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	if !w.startup(to, from) {
		return
	}
	var earlier [][]byte
	var late []byte // is sent after the next FPDU
	for number := 0; ; number++ {
		var head [2]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(head[:]))
		b := make([]byte, fpduLength(n)-2)
		if _, err := io.ReadFull(from, b); err != nil {
			return
		}
		w.passed.Add(int64(n))
		ulpdu := b[:n]
		list, goes := [][]byte{ulpdu}, true
		for _, m := range w.moves {
			if number < honest || int(m.number) != number-honest {
				continue
			}
			w.changed.Add(1)
			if m.kind == moveDelay && late == nil {
				list, late = list[:len(list)-1], ulpdu
				break
			}
			list, goes = m.change(ulpdu, earlier, w.raw)
		}
		if late != nil && len(list) > 0 {
			list, late = append(list, late), nil
		}
		earlier = append(earlier, ulpdu)
		for i, u := range list {
			f := fpdu(u)
			if !goes && i == len(list)-1 {
				f = f[:2+len(u)]
			}
			if _, err := to.Write(f); err != nil {
				return
			}
		}
		if !goes {
			return
		}
	}
}

// startup forwards the MPA frame with which the malicious rank begins a connection.
func (w *wire) startup(to, from net.Conn) bool {
	head := make([]byte, startupHead)
	if _, err := io.ReadFull(from, head); err != nil {
		return false
	}
	rest := make([]byte, binary.BigEndian.Uint16(head[18:]))
	if _, err := io.ReadFull(from, rest); err != nil {
		return false
	}
	w.passed.Add(1)
	_, err := to.Write(append(head, rest...))
	return err == nil
}

// fpduLength returns the length of the FPDU of a ULPDU of n bytes, with header, padding and room
// for a CRC.
func fpduLength(n int) int { return (2+n+3)&^3 + 4 }

// fpdu frames a ULPDU. The CRC is zero, because CRCs are off and no side checks them.
func fpdu(ulpdu []byte) []byte {
	b := make([]byte, fpduLength(len(ulpdu)))
	binary.BigEndian.PutUint16(b, uint16(len(ulpdu)))
	copy(b[2:], ulpdu)
	return b
}
