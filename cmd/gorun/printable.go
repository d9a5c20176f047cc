package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable returns a text with its control characters escaped, but for ends of lines and tabs.
// Ranks, and hosts before they are trusted, have part in what gorun says, and a terminal obeys
// such characters: they could hide lines, or write others.
func printable(text string) string {
	if !strings.ContainsFunc(text, hostile) {
		return text
	}
	var b strings.Builder
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for i, c := range text {
		switch {
		case !hostile(c):
			b.WriteRune(c)
		case c == utf8.RuneError:
			if n := len("\uFFFD"); strings.HasPrefix(text[i:], "\uFFFD") {
				b.WriteString(text[i : i+n]) // it is in the text
				continue
			}
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case c < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

// hostile reports whether a terminal may act on a character: controls (ECMA-48, 8-bit ones
// among them), those that change the direction of a line, and what stands for bytes that are no
// UTF-8.
func hostile(c rune) bool {
	return c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)) || c == utf8.RuneError
}

// signed returns the report of a rank with its name in front, unless the report contains
// it.
func signed(rank int, text string) string {
	text = strings.TrimRight(text, "\n")
	name := fmt.Sprintf("rank %d", rank)
	if strings.HasPrefix(text, name+" ") {
		return text
	}
	return name + ": " + text
}
