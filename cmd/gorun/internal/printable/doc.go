// Package printable makes text from untrusted sources harmless for a terminal. Messages of gorun contain text
// of ranks, and text of hosts that are not trusted yet. A terminal obeys control characters in such a text.
// The control characters could hide lines or forge other lines.
package printable
