package certificate_test

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/certificate"
)

func config(t *testing.T, secret, job string) *tls.Config {
	t.Helper()
	c, err := certificate.New([]byte(secret), job)
	require.NoError(t, err)
	return c
}

// shake connects two sides and returns what each says of the handshake.
func shake(t *testing.T, client, server *tls.Config) (*tls.Conn, error, error) {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	c, s := tls.Client(a, client), tls.Server(b, server)
	answered := make(chan error, 1)
	go func() {
		err := s.Handshake()
		if err == nil {
			_, err = s.Write([]byte("x"))
		}
		_ = b.Close()
		answered <- err
	}()
	asked := c.Handshake()
	if asked == nil {
		_, asked = c.Read(make([]byte, 1)) // what the server thinks of the client comes later
	}
	_ = a.Close()
	return c, asked, <-answered
}

func TestRanksOfAJobTakeEachOther(t *testing.T) {
	c, asked, answered := shake(t, config(t, "secret", "job"), config(t, "secret", "job"))
	require.NoError(t, asked)
	require.NoError(t, answered)
	s := c.ConnectionState()
	require.Equal(t, uint16(tls.VersionTLS13), s.Version)
	require.False(t, s.DidResume)
}

func TestOthersAreRefused(t *testing.T) {
	own := config(t, "secret", "job")
	for name, other := range map[string]*tls.Config{"secret": config(t, "guess", "job"), "job": config(t, "secret", "another")} {
		_, asked, answered := shake(t, other, own)
		require.Error(t, asked, name)
		require.Error(t, answered, name)
		_, asked, _ = shake(t, own, other)
		require.ErrorIs(t, asked, certificate.ErrForeign, name)
	}
	// Only one side knows the secret, and the other takes everybody.
	anybody := config(t, "guess", "job")
	anybody.VerifyConnection = nil
	_, asked, _ := shake(t, own, anybody)
	require.ErrorIs(t, asked, certificate.ErrForeign)
	_, _, answered := shake(t, anybody, own)
	require.ErrorIs(t, answered, certificate.ErrForeign)
	anybody.Certificates = nil
	_, _, answered = shake(t, anybody, own)
	require.Error(t, answered, "no certificate")
	anybody = config(t, "secret", "job")
	anybody.NextProtos = nil
	_, _, answered = shake(t, anybody, own)
	require.Error(t, answered, "another protocol")
	anybody.MinVersion, anybody.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	_, asked, _ = shake(t, anybody, own)
	require.Error(t, asked, "an older version")
}

// TestOneCertificate: all ranks make the same one, byte by byte.
func TestOneCertificate(t *testing.T) {
	a, b := config(t, "secret", "job"), config(t, "secret", "job")
	require.Equal(t, a.Certificates[0].Certificate, b.Certificates[0].Certificate)
	require.NotEqual(t, a.Certificates[0].Certificate, config(t, "secret", "another").Certificates[0].Certificate)
}
