// Package placement decides which host runs a rank, and on which processors of the host. Its functions
// depend only on their arguments: the launcher passes the slots of the hosts, and an agent passes the
// processors of its machine.
package placement
