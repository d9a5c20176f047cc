// Package probe reports the resources of a host for RDMA: network interfaces and addresses that can
// carry RDMA, and adapters with a kernel driver. It only reads the state of the host.
//
// Package runtime uses package probe to choose the adapters of a rank and the address at which the
// rank listens. gorun -explain prints the adapters that are not used, with the reasons.
//
// # Choice of the address
//
// Package probe chooses one address. It never chooses the unspecified address, because a listener
// at that address could be reached from all networks of the host. Without a preference, it chooses
// in this order:
//
//  1. only interfaces that are up and have an address; loopback addresses after other addresses, and
//     link-local addresses after loopback addresses, because a zone has no meaning on another host
//  2. an interface with an RDMA device before an interface without an RDMA device
//  3. a physical interface before a virtual one (bridges and container networks
//     have the same addresses on many hosts)
//  4. the faster interface before the slower one, then IPv4 before IPv6, and then the order of the
//     kernel
//
// A preference (-net) is an interface's name, an address, or a network in CIDR form. Several
// preferences are separated by commas. The first preference that matches an address is used. If
// this preference matches several addresses, the order above decides among them.
//
// Unstable: any release may change this package, also after v1.
package probe
