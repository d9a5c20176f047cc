package certificate

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

const (
	// label is the HKDF label from which the seed of the key is derived.
	label = "gorun tls certificate 1"
	// protocol is the application protocol in the TLS handshake (ALPN).
	protocol = "gorun-mpa"
)

var (
	// ErrForeign reports that the other side does not have the certificate of this job, or that its
	// ClientHello was not made with the job's secret.
	ErrForeign = errors.New("the other side does not know the job's secret")
	// ErrProtocol reports that the other side has the certificate of this job, but has not agreed on the
	// application protocol.
	ErrProtocol = errors.New("the other side does not support the TLS application protocol " + protocol + ": run the same release of gorun on every node")
)

// Sides has the TLS configurations for the active and the passive side of a job's connections.
type Sides struct {
	// Passive is the configuration for every connection that a peer requests from this side.
	Passive *tls.Config

	active    *tls.Config
	admission *admission
}

// New returns the configurations that are derived from the job's secret and id.
func New(secret []byte, job string) (*Sides, error) {
	key := ed25519.NewKeyFromSeed(negotiation.DeriveKey(secret, job, label))
	public, _ := key.Public().(ed25519.PublicKey)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gorun"},
		// These dates span all times, because the clocks of hosts may be wrong. The function verify
		// does not check the dates.
		NotBefore: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(nil, template, template, public, key) // Ed25519 needs no randomness
	if err != nil {
		return nil, fmt.Errorf("certificate of the job: %w", err)
	}
	active := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		MinVersion:   tls.VersionTLS13, NextProtos: []string{protocol},
		ClientAuth: tls.RequireAnyClientCert,
		// There is no certificate authority. On both sides the function verify checks the certificate.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyConnection:   func(s tls.ConnectionState) error { return verify(&s, public) },
		// Session tickets are disabled. With a session ticket, a side could connect without a proof
		// that it has the private key.
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
	}
	door := newAdmission(secret, job)
	passive := active.Clone()
	passive.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		return nil, door.check(h.ServerName) // for a nil configuration crypto/tls uses passive
	}
	return &Sides{passive, active, door}, nil
}

// Active returns the configuration for one connection that this side requests. Each connection needs a
// new configuration. The configuration contains the name that this side sends in its ClientHello, and
// the peer does not accept a name again while it remembers the name (admissionsKept).
func (s *Sides) Active() *tls.Config {
	c := s.active.Clone()
	c.ServerName = s.admission.name()
	return c
}

// verify checks that the certificate with which the other side has signed the handshake has the
// job's public key, and that both sides have agreed on the application protocol.
func verify(s *tls.ConnectionState, public ed25519.PublicKey) error {
	switch {
	case len(s.PeerCertificates) != 1 || !public.Equal(s.PeerCertificates[0].PublicKey):
		return ErrForeign
	case s.NegotiatedProtocol != protocol:
		return ErrProtocol
	default:
		return nil
	}
}
