// Package printable makes text from untrusted sources harmless for a terminal. Messages of gorun contain
// text of ranks, and of hosts that are not trusted yet. A terminal obeys control characters in such a
// text, which could hide lines or forge others.
package printable
