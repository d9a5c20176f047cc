// Package tier composes collective operations of several levels: within a node, or within the
// processors that share a cache, by shared memory (package node), and between them by messages
// (package message).
//
// A Tier does the operations of some ranks. Memory and Messages are the elementary ones. Nested
// makes one of two: an inner tier of the ranks of a group, which is the caller's, and an outer one
// of the groups' leaders, their first members. Nested tiers nest: the groups of a node may be those
// of its caches.
//
// The method is that of N. Karonis and others, "Exploiting hierarchy in parallel computer networks
// to optimize collective operation performance", International Parallel and Distributed Processing
// Symposium (2000): data crosses a level once per group and not once per rank.
//
// Groups may have different sizes and any members. Where blocks of whole groups travel, each is as
// long as that of the largest group. A reduction with an operator that does not commute needs
// Nested.InOrder.
//
// An error leaves the members out of step.
package tier
