package rdmacm_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
)

// uidOf returns the uid with which the last ID was made.
func uidOf(t *testing.T, u *ucma) uint64 {
	t.Helper()
	for i := len(u.seen) - 1; i >= 0; i-- {
		if u.seen[i].Number == create {
			return binary.NativeEndian.Uint64(u.seen[i].Body)
		}
	}
	t.Fatal("no id was made")
	return 0
}

func TestEventsAreMatchedByUID(t *testing.T) {
	u := newUcma()
	c := rdmacm.New(u)
	first, err := c.Create("first")
	require.NoError(t, err)
	one := uidOf(t, u)
	second, err := c.Create("second")
	require.NoError(t, err)
	two := uidOf(t, u)
	require.NotZero(t, one) // the kernel reports no events for uid 0
	require.NotEqual(t, one, two)
	u.events = [][]byte{
		(&wireEvent{UID: two, ID: 1, Kind: uint32(rdmacm.AddressError), Status: -int32(unix.ENODEV)}).bytes(),
		(&wireEvent{UID: one, ID: 2, Kind: 17, Status: 3}).bytes(), // a kind that only a newer kernel has
	}
	var e rdmacm.Event
	more, err := c.Next(&e)
	require.NoError(t, err)
	require.True(t, more)
	require.Same(t, second, e.ID)
	require.Equal(t, "second", e.ID.Context)
	require.ErrorIs(t, e.Err(), unix.ENODEV)
	require.EqualError(t, e.Err(), "ADDR_ERROR: no such device")
	more, err = c.Next(&e)
	require.NoError(t, err)
	require.True(t, more)
	require.Same(t, first, e.ID)
	require.Equal(t, "event 17", e.Kind.String())
	require.NoError(t, e.Err())
	require.Equal(t, "event 4294967295", rdmacm.Kind(math.MaxUint32).String())
	require.Equal(t, "event 12", rdmacm.Kind(12).String())
	more, err = c.Next(&e)
	require.NoError(t, err)
	require.False(t, more)
	u.quiet = true
	u.errors[next] = unix.EIO // Next does not return this error, because it does not ask the kernel
	more, err = c.Next(&e)
	require.NoError(t, err)
	require.False(t, more)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = c.Next(&e) }))
	require.NoError(t, c.Close())
	require.True(t, u.closed)
}

// TestEventsOfDestroyed destroys a listener after the kernel has returned an event of the listener and before the
// channel has processed the event. The test checks that all events of the listener are ignored, and that the
// request to the listener is destroyed.
func TestEventsOfDestroyed(t *testing.T) {
	u := newUcma()
	c := rdmacm.New(u)
	listener, err := c.Create(nil)
	require.NoError(t, err)
	uid := uidOf(t, u)
	kept, err := c.Create(nil)
	require.NoError(t, err)
	u.events = [][]byte{
		(&wireEvent{UID: uid, ID: 77, Kind: uint32(rdmacm.ConnectRequest)}).bytes(),
		(&wireEvent{UID: uid, ID: 1, Kind: uint32(rdmacm.DeviceRemoval)}).bytes(),
		(&wireEvent{UID: uidOf(t, u), ID: 2, Kind: uint32(rdmacm.Disconnected)}).bytes(),
	}
	u.reading = func() {
		u.reading = nil
		require.NoError(t, listener.Destroy())
	}
	var e rdmacm.Event
	more, err := c.Next(&e)
	require.NoError(t, err)
	require.True(t, more)
	require.Same(t, kept, e.ID)
	require.Equal(t, rdmacm.Disconnected, e.Kind)
	require.Nil(t, e.Request)
	require.Equal(t, []uint32{create, create, destroy, destroy}, u.commands())
	require.EqualValues(t, 1, binary.NativeEndian.Uint32(u.seen[2].Body[8:]))
	require.EqualValues(t, 77, binary.NativeEndian.Uint32(u.seen[3].Body[8:]))

	require.ErrorIs(t, listener.Destroy(), os.ErrClosed)
	require.ErrorIs(t, listener.Listen(1), os.ErrClosed)
	require.EqualError(t, listener.Disconnect(), "rdma_cm: disconnect id 1: file already closed")
	require.Len(t, u.seen, 4) // no command was sent, because the kernel may have given the number to another ID
}

// TestRequestsHaveIDs checks that a connection request has an ID of its own, and that Next returns events of
// this ID after the request is accepted.
func TestRequestsHaveIDs(t *testing.T) {
	u := newUcma()
	c := rdmacm.New(u)
	listener, err := c.Create(nil)
	require.NoError(t, err)
	request := wireEvent{
		UID: uidOf(t, u), ID: 9, Kind: uint32(rdmacm.ConnectRequest), QPNumber: 0x123456, Length: 3, In: 4, Out: 5,
		Retry: 6, RNRRetry: 7, SRQ: 1,
	}
	copy(request.Data[:], "abcdef")
	u.events = [][]byte{request.bytes()}
	var e rdmacm.Event
	more, err := c.Next(&e)
	require.NoError(t, err)
	require.True(t, more)
	require.Same(t, listener, e.ID)
	require.Equal(t, rdmacm.Parameters{
		PrivateData: []byte("abc"), QPNumber: 0x123456, ResponderResources: 4, InitiatorDepth: 5, RetryCount: 6, RNRRetryCount: 7, SRQ: true,
	}, e.Parameters)
	require.NoError(t, e.Request.Accept(&rdmacm.Parameters{PrivateData: []byte("xyz"), QPNumber: 0xabcdef, ResponderResources: 5, InitiatorDepth: 4, FlowControl: true, RetryCount: 1, RNRRetryCount: 2}))
	body := u.seen[len(u.seen)-1].Body
	require.Len(t, body, 296)
	uid := binary.NativeEndian.Uint64(body)
	require.NotZero(t, uid)
	require.NotEqual(t, request.UID, uid)
	require.EqualValues(t, 9, binary.NativeEndian.Uint32(body[280:]))
	require.EqualValues(t, 0xabcdef, binary.NativeEndian.Uint32(body[8:]))
	require.Equal(t, []byte("xyz\x00"), body[16:20])
	require.Equal(t, []byte{3, 0, 5, 4, 1, 1, 2, 1}, body[272:280])

	u.events = [][]byte{(&wireEvent{UID: uid, ID: 9, Kind: uint32(rdmacm.Established)}).bytes()}
	accepted := e.Request
	more, err = c.Next(&e)
	require.NoError(t, err)
	require.True(t, more)
	require.Same(t, accepted, e.ID)

	// The confirmation of the active side does not change the uid.
	require.NoError(t, listener.Accept(nil))
	body = u.seen[len(u.seen)-1].Body
	require.Zero(t, binary.NativeEndian.Uint64(body))
	require.Zero(t, body[279])
}

// TestTruncatedEvents checks that the fields that a kernel does not write are zero, and do not keep values of an
// earlier event.
func TestTruncatedEvents(t *testing.T) {
	u := newUcma()
	c := rdmacm.New(u)
	_, err := c.Create(nil)
	require.NoError(t, err)
	full := wireEvent{
		UID: uidOf(t, u), ID: 0x01020304, Kind: uint32(rdmacm.Rejected), Status: 28, QPNumber: 0x05060708, Length: 255,
		SRQ: 1, In: 2, Out: 3, Flow: 1, Retry: 5, RNRRetry: 6, Valid: 1,
	}
	for i := range full.Data {
		full.Data[i] = byte(i + 1)
	}
	b := full.bytes()
	require.Len(t, b, 336)
	for n := range len(b) + 1 {
		u.events = [][]byte{bytes.Repeat([]byte{0xff}, 336), b, b[:n]} // no ID, whole, truncated
		var e rdmacm.Event
		for {
			e = rdmacm.Event{}
			more, err := c.Next(&e)
			require.NoError(t, err)
			if !more {
				break
			}
			w := full
			if len(u.events) == 0 {
				w = decoded(b, n)
			}
			require.Equal(t, rdmacm.Kind(w.Kind), e.Kind)
			require.Equal(t, w.Status, e.Status)
			require.Equal(t, rdmacm.Parameters{
				PrivateData: append([]byte{}, w.Data[:w.Length]...), QPNumber: w.QPNumber, ResponderResources: w.In, InitiatorDepth: w.Out,
				FlowControl: w.Flow != 0, RetryCount: w.Retry, RNRRetryCount: w.RNRRetry, SRQ: w.SRQ != 0,
			}, e.Parameters, "%d bytes", n)
		}
	}
}

func FuzzEvent(f *testing.F) {
	f.Add((&wireEvent{UID: 1, Kind: 4, Length: 255}).bytes())
	f.Add(bytes.Repeat([]byte{0xff}, 336))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		u := newUcma()
		c := rdmacm.New(u)
		id, err := c.Create(nil)
		require.NoError(t, err)
		u.events = [][]byte{b}
		var e rdmacm.Event
		more, err := c.Next(&e)
		require.NoError(t, err)
		if more {
			require.Same(t, id, e.ID)
			require.Equal(t, e.Kind == rdmacm.ConnectRequest, e.Request != nil)
			_, _ = e.Err(), e.Kind.String()
		}
	})
}

// TestErrors checks that an error contains the kernel's error, the command and the ID.
func TestErrors(t *testing.T) {
	u := newUcma()
	c := rdmacm.New(u)
	id, err := c.Create(nil)
	require.NoError(t, err)
	u.errors[connect] = unix.ECONNREFUSED
	err = id.Connect(&rdmacm.Parameters{})
	require.ErrorIs(t, err, unix.ECONNREFUSED)
	require.EqualError(t, err, "rdma_cm: connect id 1: connection refused")
	var e *rdmacm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "connect", e.Op)
	u.errors[next] = unix.EIO
	_, err = c.Next(new(rdmacm.Event))
	require.ErrorIs(t, err, unix.EIO)
	u.errors[create] = unix.EACCES
	_, err = c.Create(nil)
	require.EqualError(t, err, "rdma_cm: create: permission denied (the process has changed its credentials since it opened the device)")
	for _, tell := range []func() error{
		func() error { return id.Connect(&rdmacm.Parameters{PrivateData: make([]byte, 256)}) },
		func() error { return id.Accept(&rdmacm.Parameters{PrivateData: make([]byte, 256)}) },
		func() error { return id.Reject(make([]byte, 256)) },
	} {
		before := len(u.seen)
		err := tell()
		require.ErrorIs(t, err, unix.EINVAL)
		require.ErrorContains(t, err, "private data of 256 bytes, at most 255")
		require.Len(t, u.seen, before)
	}
}

// TestTogether uses a channel from several goroutines at the same time. The test checks that no command names an
// ID after the ID was destroyed.
func TestTogether(t *testing.T) {
	u := newUcma()
	c := rdmacm.New(u)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				id, err := c.Create(nil)
				if err != nil {
					t.Error(err)
					return
				}
				var both sync.WaitGroup
				both.Go(func() { _ = id.Disconnect() })
				both.Go(func() { _ = id.Destroy() })
				var e rdmacm.Event
				_, _ = c.Next(&e)
				both.Wait()
			}
		})
	}
	all.Wait()
	last := map[uint32]uint32{} // destroy for each destroyed number
	for _, s := range u.seen {
		switch s.Number {
		case destroy:
			last[binary.NativeEndian.Uint32(s.Body[8:])] = destroy
		case create:
		default:
			require.NotEqual(t, uint32(destroy), last[binary.NativeEndian.Uint32(s.Body)], "a command after the end of its id")
		}
	}
	require.Len(t, last, 800)
}
