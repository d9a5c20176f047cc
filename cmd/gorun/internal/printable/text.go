package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a text in which all hostile characters, and all bytes that are not UTF-8, are escaped. Ends of
// lines, tabs and U+FFFD remain. "\r\n" becomes "\n".
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
				b.WriteString(text[i : i+n]) // the text itself contains U+FFFD
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

// Line returns Text(text) as one line: ends of lines and tabs become blanks.
func Line(text string) string {
	return blanks.Replace(Text(text))
}

var blanks = strings.NewReplacer("\n", " ", "\t", " ")

// hostile reports whether a terminal may act on a character. Hostile characters are the characters that
// change the direction of text, and the control characters of ECMA-48 except line feed and tab. The control
// characters include the 8-bit control characters. U+FFFD is included because it also stands for bytes that
// are not UTF-8.
func hostile(c rune) bool {
	return c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)) || c == utf8.RuneError
}
