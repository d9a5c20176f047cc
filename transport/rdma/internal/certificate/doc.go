// Package certificate makes the configuration of TLS for the ranks of one job: TLS 1.3, both
// sides authenticated by the job's secret.
//
// External pre-shared keys would be the means for that, which crypto/tls does not have. In
// their place all ranks have one certificate, whose key follows from the secret: HKDF-SHA256
// with the job's id as salt and the info "gorun tls certificate 1" gives the seed of an
// Ed25519 key. Each side signs the handshake with it (CertificateVerify) and takes no other
// key than its own. So a side that does not know the secret can neither connect nor answer.
// The keys of the traffic are of an exchange that is new for each connection: who learns the
// secret later cannot read what was recorded.
//
// A listener that is reached by anybody must not compute an exchange for everybody. The name in
// the ClientHello (SNI) is therefore a nonce with a tag, which only a side with the secret makes
// and which is taken once.
//
// Which rank is at the other end, the records of package negotiation say.
package certificate
