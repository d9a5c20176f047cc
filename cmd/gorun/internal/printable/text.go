package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a text with its control characters escaped, but for ends of lines and tabs.
func Text(text string) string {
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

// Line returns a text in one line: its ends of lines and tabs are blanks, and its other control
// characters are escaped.
func Line(text string) string {
	return blanks.Replace(Text(text))
}

var blanks = strings.NewReplacer("\n", " ", "\t", " ")

// hostile reports whether a terminal may act on a character: controls (ECMA-48, 8-bit ones
// among them), those that change the direction of a line, and what stands for bytes that are no
// UTF-8.
func hostile(c rune) bool {
	return c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)) || c == utf8.RuneError
}
