// Package probe reports what a host offers for RDMA: network interfaces and addresses
// that can carry it, adapters with a kernel driver, and, if there are none, the reason
// and the remedy. It reads, and changes nothing.
//
// transport/rdma uses it to choose the address that it listens on, gorun prints it with
// -explain.
//
// # Choice of the address
//
// One address is chosen, never the unspecified one, so that the listener cannot be
// reached from other networks of the host. Without a preference, in this order:
//
//  1. interfaces that are up and have an address; loopback only if there is
//     nothing else, and link-local addresses, whose zone means nothing on
//     another host, after that
//  2. an interface with an RDMA device before one without
//  3. a physical interface before a virtual one (bridges and container networks
//     have the same addresses on many hosts)
//  4. the faster one, IPv4 before IPv6, and then the order of the kernel
//
// A preference (-net) is an interface's name, an address, or a network in CIDR form;
// several are separated by commas, and the first that matches is used. Among its matches
// the same order decides.
//
// Unstable: any release may change this package, also after v1.
package probe
