package transport_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

func TestKeyAtMovesTheAddressOnly(t *testing.T) {
	k := transport.Key{Addr: 100, Token: 7}
	require.Equal(t, transport.Key{Addr: 142, Token: 7}, k.At(42))
	require.Equal(t, k, k.At(5).At(-5))
	require.Equal(t, k, k.At(0))
}

func TestHeaderHasTheSizeItSays(t *testing.T) {
	require.Equal(t, uintptr(transport.HeaderSize), reflect.TypeFor[transport.Header]().Size())
}
