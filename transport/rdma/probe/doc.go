// Package probe says what a host offers for RDMA: which network interfaces and
// addresses could carry it, which adapters the kernel drives, and, where there
// is nothing, why not and what to do. It looks, and changes nothing.
//
// transport/rdma chooses the address it listens on with it, gorun prints it with
// -explain.
//
// # Choice of the address
//
// One address is chosen, never the unspecified one: strangers on other networks
// of the host cannot reach a listener that is not there. Without a wish, in this
// order:
//
//  1. interfaces that are up and have an address; loopback only if there is
//     nothing else, and link-local addresses, whose zone means nothing on
//     another host, after that
//  2. an interface with an RDMA device before one without
//  3. a physical interface before a virtual one (bridges and container networks
//     have the same addresses on many hosts)
//  4. the faster one, IPv4 before IPv6, and then the order of the kernel
//
// A wish (-net) is an interface's name, an address, or a network in CIDR form;
// several are separated by commas, the first that matches wins. Among what it
// matches the same order decides.
package probe
