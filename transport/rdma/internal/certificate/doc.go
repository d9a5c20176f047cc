// Package certificate makes the TLS configuration for the ranks of one job: TLS 1.3, with both
// sides authenticated by the job's secret.
//
// The usual means would be external pre-shared keys, but crypto/tls does not support them. Instead,
// all ranks have one certificate, whose key is derived from the secret: HKDF-SHA256 with the job's
// id as salt and the info "gorun tls certificate 1" yields the seed of an Ed25519 key. Each side
// signs the handshake with this key (CertificateVerify) and accepts no other key from the peer. So
// a side that does not know the secret can neither request nor accept a connection. The keys that
// encrypt the traffic come from a key exchange that is new for each connection. So a person who
// learns the secret later cannot decrypt recorded traffic.
//
// Anybody can reach a listener, but the listener must not compute a key exchange for everybody.
// The name in the ClientHello (SNI) is therefore a nonce with a tag. Only a side with the secret
// can make the tag, and a listener does not accept any of the last 4096 names again.
//
// TLS does not identify the rank at the other end. The records of package negotiation identify the
// rank.
package certificate
