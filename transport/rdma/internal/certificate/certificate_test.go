package certificate_test

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/certificate"
)

func sides(tb testing.TB, secret, job string) *certificate.Sides {
	tb.Helper()
	s, err := certificate.New([]byte(secret), job)
	require.NoError(tb, err)
	return s
}

// shake connects two sides, and returns the results of the handshake at both sides.
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
		_, asked = c.Read(make([]byte, 1)) // the server's result arrives after the client's handshake
	}
	_ = a.Close()
	return c, asked, <-answered
}

func TestRanksOfAJobTakeEachOther(t *testing.T) {
	c, asked, answered := shake(t, sides(t, "secret", "job").Active(), sides(t, "secret", "job").Passive)
	require.NoError(t, asked)
	require.NoError(t, answered)
	s := c.ConnectionState()
	require.Equal(t, uint16(tls.VersionTLS13), s.Version)
	require.False(t, s.DidResume)
}

func TestOthersAreRefused(t *testing.T) {
	own := sides(t, "secret", "job")
	for name, other := range map[string]*certificate.Sides{"secret": sides(t, "guess", "job"), "job": sides(t, "secret", "another")} {
		_, asked, answered := shake(t, other.Active(), own.Passive)
		require.Error(t, asked, name)
		require.ErrorIs(t, answered, certificate.ErrForeign, name)
		passive := other.Passive
		passive.GetConfigForClient = nil // without this, the server admits every client
		_, asked, _ = shake(t, own.Active(), passive)
		require.ErrorIs(t, asked, certificate.ErrForeign, name)
	}
}

// TestAnAdmittedHelloIsNoCertificate checks that a client with an admitted name is refused if it lacks the
// certificate, the application protocol, or TLS 1.3.
func TestAnAdmittedHelloIsNoCertificate(t *testing.T) {
	own := sides(t, "secret", "job")
	for name, change := range map[string]func(c *tls.Config){
		"another certificate": func(c *tls.Config) { c.Certificates = sides(t, "guess", "job").Passive.Certificates },
		"none":                func(c *tls.Config) { c.Certificates = nil },
		"another protocol":    func(c *tls.Config) { c.NextProtos = nil },
		"an older version":    func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 },
	} {
		anybody := own.Active()
		anybody.VerifyConnection = nil
		change(anybody)
		_, _, answered := shake(t, anybody, own.Passive)
		require.Error(t, answered, name)
		require.Equal(t, name == "another protocol", errors.Is(answered, certificate.ErrProtocol), name)
		require.Equal(t, name == "another certificate", errors.Is(answered, certificate.ErrForeign), name)
	}
}

// TestOneCertificate checks that all ranks make the same certificate, byte for byte.
func TestOneCertificate(t *testing.T) {
	a, b := sides(t, "secret", "job").Passive, sides(t, "secret", "job").Passive
	require.Equal(t, a.Certificates[0].Certificate, b.Certificates[0].Certificate)
	require.NotEqual(t, a.Certificates[0].Certificate, sides(t, "secret", "another").Passive.Certificates[0].Certificate)
}
