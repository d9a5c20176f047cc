package verbs

import (
	"net/netip"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// upcalls is the provider.Upcalls of an endpoint, to which its queue pair reports.
type upcalls Endpoint

var _ provider.Upcalls = (*upcalls)(nil)

// Established implements provider.Upcalls.
func (u *upcalls) Established(answer *provider.Proposal, local, remote netip.AddrPort) error {
	return (*Endpoint)(u).established(answer, local, remote)
}

// Failed implements provider.Upcalls.
func (u *upcalls) Failed(why provider.Failure, privateData []byte, err error) {
	(*Endpoint)(u).failed(why, privateData, err)
}

// Disconnected implements provider.Upcalls.
func (u *upcalls) Disconnected() { (*Endpoint)(u).ended(EventDisconnected, nil) }

// Broken implements provider.Upcalls.
func (u *upcalls) Broken(err error) { (*Endpoint)(u).ended(EventBroken, err) }
