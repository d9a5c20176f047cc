package certificate_test

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/certificate"
)

// admit lets the passive side check a name, as in the ClientHello of a connection.
func admit(s *certificate.Sides, name string) error {
	_, err := s.Passive.GetConfigForClient(&tls.ClientHelloInfo{ServerName: name})
	return err
}

// TestNamesAreAdmittedOnce checks that each connection has a name of its own, that every rank of the job admits
// this name, and that no rank admits the same name twice.
func TestNamesAreAdmittedOnce(t *testing.T) {
	a, b := sides(t, "secret", "job"), sides(t, "secret", "job")
	seen := map[string]bool{}
	for range 100 {
		name := a.Active().ServerName
		require.False(t, seen[name])
		seen[name] = true
		for _, s := range []*certificate.Sides{a, b} {
			require.NoError(t, admit(s, name))
			require.ErrorIs(t, admit(s, name), certificate.ErrRepeated)
			require.ErrorIs(t, admit(s, strings.ToUpper(name)), certificate.ErrRepeated)
		}
	}
}

// TestAdmissionsAreBounded checks that a side remembers a limited number of names: the names that were admitted
// last.
func TestAdmissionsAreBounded(t *testing.T) {
	s := sides(t, "secret", "job")
	names := make([]string, certificate.AdmissionsKept+1)
	for i := range names {
		names[i] = s.Active().ServerName
		require.NoError(t, admit(s, names[i]))
	}
	require.Equal(t, certificate.AdmissionsKept, certificate.Remembered(s))
	require.NoError(t, admit(s, names[0]), "it is forgotten")
	for _, name := range names[2:] {
		require.ErrorIs(t, admit(s, name), certificate.ErrRepeated)
	}
	require.Equal(t, certificate.AdmissionsKept, certificate.Remembered(s))
}

// FuzzAdmission checks that a side refuses every name except the one that was made. Upper and lower case do not matter.
func FuzzAdmission(f *testing.F) {
	s := sides(f, "secret", "job")
	good := s.Active().ServerName
	for n := range len(good) {
		f.Add(good[:n])
	}
	f.Add(good + "0")
	f.Add("a" + good)
	f.Add(good + "." + good)
	f.Add(strings.Replace(good, ".", "..", 1))
	f.Add(sides(f, "guess", "job").Active().ServerName)
	f.Add(sides(f, "secret", "another").Active().ServerName)
	f.Fuzz(func(t *testing.T, name string) {
		if !strings.EqualFold(name, good) {
			require.ErrorIs(t, admit(s, name), certificate.ErrForeign)
		}
	})
}

// TestStrangersGetNoExchange checks that a listener that refuses a ClientHello sends only an alert, and so has
// computed no key exchange.
func TestStrangersGetNoExchange(t *testing.T) {
	own, guess := sides(t, "secret", "job"), sides(t, "guess", "job")
	a, b := net.Pipe()
	said := make(chan int, 1)
	go func() {
		_ = tls.Server(b, own.Passive).Handshake()
		_ = b.Close()
	}()
	go func() {
		total, into := 0, make([]byte, 4096)
		var err error
		for n := 0; err == nil; total += n {
			n, err = a.Read(into)
		}
		said <- total
	}()
	_ = tls.Client(silent{a}, guess.Active()).Handshake()
	require.Equal(t, 7, <-said, "the record of an alert")
	_ = a.Close()
}

// silent is a connection on which no byte arrives.
type silent struct{ net.Conn }

func (silent) Read([]byte) (int, error) { return 0, net.ErrClosed }
