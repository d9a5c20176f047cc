// Package printable makes texts of strangers harmless for a terminal. Ranks, and hosts before they are
// trusted, have part in what gorun says, and a terminal obeys control characters: they could hide
// lines, or write others.
package printable
