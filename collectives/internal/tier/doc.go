// Package tier composes collective operations of several levels. Within a node, or within the
// processors that share a cache, these operations use shared memory (package node). Between nodes they
// use messages (package message).
//
// A Tier executes the operations of some ranks. Memory, Messages and Alone are the elementary tiers. Nested
// combines two tiers into one: an inner tier of the ranks of the caller's group, and an outer tier of
// the leaders of all groups. The leader of a group is its first member. Nested tiers can be nested:
// the inner tier of a node may itself consist of the groups of ranks that share a cache.
//
// The method is from N. Karonis and others, "Exploiting hierarchy in parallel computer networks to
// optimize collective operation performance", International Parallel and Distributed Processing
// Symposium (2000). Data crosses a level once per group instead of once per rank.
//
// Groups may have different sizes, and consist of any ranks. If leaders exchange the blocks of whole
// groups, each message has the length that the message of the largest group needs. A reduction with
// an operator that does not commute needs groups for which Parts.InOrder returns true.
//
// After an error the members are out of step, and the tier cannot be used.
package tier
