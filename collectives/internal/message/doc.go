// Package message holds the collective algorithms that send messages: they
// work on any network and for any number of ranks.
//
// One algorithm is one file of straight-line code over Peer. The head of each
// says its name, its paper, its restrictions, and what it costs when a message
// of n bytes takes alpha + n*beta and combining n bytes takes n*gamma, for p
// ranks. Logarithms are binary.
//
// Every algorithm is a row of the catalog, by which package collectives, its simulation and
// the tests find it.
//
// Buffers are bytes; lengths were checked by the caller and are the same on
// every rank. A reduction's buffers are whole elements.
package message
