package rdma

import (
	"crypto/tls"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/certificate"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// sealer is implemented by providers that can encrypt their connections.
type sealer interface {
	Secure(passive *tls.Config, active func() *tls.Config)
}

// Encrypt makes the transport encrypt all connections over TCP by TLS 1.3 with the job's secret.
// Encrypted connections have no CRC. All ranks of the job have to call Encrypt before their first
// connection. Data that is sent through adapters of the kernel is not encrypted. Encrypt is called
// before the first Poll, which may accept a connection.
func (t *Transport) Encrypt() error {
	c, err := certificate.New(t.config.Secret, t.config.Job)
	if err != nil {
		return t.failure("encrypt", -1, err)
	}
	for _, r := range t.rails {
		if s, ok := r.config.Provider.(sealer); ok {
			s.Secure(c.Passive, c.Active)
			r.encrypted = true
			r.policy.Features |= negotiation.WithoutCRC
		}
	}
	return nil
}
