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
	// label is what the seed of the key is derived for.
	label = "gorun tls certificate 1"
	// protocol is the name in the handshake (ALPN).
	protocol = "gorun-mpa"
)

// ErrForeign says that the other side has another certificate than this job's.
var ErrForeign = errors.New("the other side does not know the job's secret")

// Sides are the configurations of the two sides of connections of a job.
type Sides struct {
	// Passive is for all connections that this side is asked for.
	Passive *tls.Config

	active    *tls.Config
	admission *admission
}

// New returns what follows from the job's secret and id.
func New(secret []byte, job string) (*Sides, error) {
	key := ed25519.NewKeyFromSeed(negotiation.DeriveKey(secret, job, label))
	public, _ := key.Public().(ed25519.PublicKey)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gorun"},
		// Clocks of hosts differ, and nobody looks.
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
		// There is no authority: verify decides, for both sides.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyConnection:   func(s tls.ConnectionState) error { return verify(&s, public) },
		// A ticket would let a connection begin without the key.
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
	}
	door := newAdmission(secret, job)
	passive := active.Clone()
	passive.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		return nil, door.check(h.ServerName) // which leaves the configuration as it is
	}
	return &Sides{passive, active, door}, nil
}

// Active returns the configuration for one connection that this side asks for: its ClientHello
// is admitted once.
func (s *Sides) Active() *tls.Config {
	c := s.active.Clone()
	c.ServerName = s.admission.name()
	return c
}

// verify checks that the other side has signed with the key of the job.
func verify(s *tls.ConnectionState, public ed25519.PublicKey) error {
	if len(s.PeerCertificates) != 1 || s.NegotiatedProtocol != protocol || !public.Equal(s.PeerCertificates[0].PublicKey) {
		return ErrForeign
	}
	return nil
}
