package rdma

import (
	"crypto/tls"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/certificate"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// sealer is a provider that can encrypt its connections.
type sealer interface {
	Secure(passive *tls.Config, active func() *tls.Config)
}

// Encrypt encrypts all connections over TCP by TLS 1.3 with the job's secret, and does
// without their CRC. All ranks of the job have to do so, and none has a connection before. What
// goes through adapters of the kernel stays as it is. It is called under the engine's lock.
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
