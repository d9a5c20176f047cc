package uverbs

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// pager simulates a kernel that answers the extended query of a device.
type pager struct {
	kernel
	in       []byte
	length   uint32
	general  uint64
	reliable uint32
	err      error
}

func (p *pager) command(in, out []byte) error {
	p.in = in
	if p.err != nil {
		return p.err
	}
	whole := make([]byte, 400)
	binary.NativeEndian.PutUint32(whole[180:], p.length)
	binary.NativeEndian.PutUint64(whole[184:], p.general)
	binary.NativeEndian.PutUint32(whole[192:], p.reliable)
	copy(out, whole)
	return nil
}

// TestOnDemand checks that on-demand paging is used only if the device offers it for all operations that use
// memory.
func TestOnDemand(t *testing.T) {
	const all = 0b111111
	for _, c := range []struct {
		name string
		p    pager
		want bool
	}{
		{"offered", pager{length: 304, general: 1, reliable: all}, true},
		{"offered, without atomics, of the whole address space", pager{length: 208, general: 3, reliable: all &^ 16}, true},
		{"not offered", pager{length: 304, reliable: all}, false},
		{"not for Sends", pager{length: 304, general: 1, reliable: all &^ 1}, false},
		{"not for receives", pager{length: 304, general: 1, reliable: all &^ 2}, false},
		{"not for Writes", pager{length: 304, general: 1, reliable: all &^ 4}, false},
		{"not for Reads", pager{length: 304, general: 1, reliable: all &^ 8}, false},
		{"not for shared receives", pager{length: 304, general: 1, reliable: all &^ 32}, false},
		{"an old kernel, which says less", pager{length: 184, general: 1, reliable: all}, false},
		{"an older one, which says nothing", pager{err: unix.ENOSYS}, false},
	} {
		require.Equal(t, c.want, (&Context{kernel: &c.p}).OnDemand(), c.name)
		require.Len(t, c.p.in, 32)
		require.Equal(t, header{command: 0x80000001, inWords: 1, outWords: 26}, *at[header](c.p.in, 0))
	}
	require.False(t, OnDemand(-1))
}
