package iwarp_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

func TestInterfaces(t *testing.T) {
	provider := iwarp.New(iwarp.Config{})
	require.Equal(t, "iwarp", provider.Name())
	names, err := provider.Interfaces()
	require.NoError(t, err)
	require.True(t, slices.Contains(names, "lo"), "%v", names)
	for _, name := range append(names, "127.0.0.1", "127.0.0.0/8", "127.0.0.1/32") {
		t.Run(name, func(t *testing.T) {
			a, err := verbs.Open(provider, name)
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			require.Equal(t, name, a.Attributes().Interface)
			q, err := a.NewCompletionQueue(8)
			require.NoError(t, err)
			l, err := a.Listen(verbs.ListenOptions{Queue: q})
			require.NoError(t, err)
			require.False(t, l.Address().Addr().IsUnspecified())
			require.NotZero(t, l.Address().Port())
		})
	}
	for _, name := range []string{"", "no such interface", "198.51.100.1", "198.51.100.0/24", "127.0.0.1/40"} {
		_, err := verbs.Open(provider, name)
		require.ErrorIs(t, err, iwarp.ErrNoInterface, name)
		require.ErrorIs(t, err, verbs.ErrInvalidParameter, name)
	}
}

func TestListenWhereAsked(t *testing.T) {
	s := newSide(t, iwarp.Config{}, 64)
	listen := func(at string) (*verbs.Listener, error) {
		return s.adapter.Listen(verbs.ListenOptions{Queue: s.queue, Address: netip.MustParseAddrPort(at)})
	}
	l, err := listen("127.0.0.2:0")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.2", l.Address().Addr().String())
	_, err = listen(l.Address().String())
	require.ErrorIs(t, err, verbs.ErrInsufficientResources, "the port is taken")
	_, err = listen("198.51.100.1:0")
	require.ErrorIs(t, err, verbs.ErrInvalidAddress)
	all, err := listen("0.0.0.0:0")
	require.NoError(t, err)
	require.True(t, all.Address().Addr().IsUnspecified(), "all of the machine's addresses, because they were asked for")
}
