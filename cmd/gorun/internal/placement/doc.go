// Package placement decides which host runs a rank, and on which processors of the host. It
// reads nothing and changes nothing: the launcher gives it the slots of hosts, an agent the
// processors of its machine.
package placement
