package printable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/printable"
)

// Text escapes control characters, direction characters and invalid UTF-8. It leaves newlines and tabs
// unchanged.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		"plain\n\ttext, ü and 日本":      "plain\n\ttext, ü and 日本",
		"\x1b[2J\x1b]0;title\a":        `\x1b[2J\x1b]0;title\x07`,
		"over\rwritten":                `over\x0dwritten`,
		"of ssh\r\nnext":               "of ssh\nnext",
		"back\b\x7f":                   `back\x08\x7f`,
		"8-bit \u009b2J":               `8-bit \u009b2J`,
		"bytes \x9b2J\xff":             `bytes \x9b2J\xff`,
		"right to left \u202e, \u2066": `right to left \u202e, \u2066`,
		"a replacement \ufffd":         "a replacement \ufffd",
		"nul \x00":                     `nul \x00`,
	} {
		require.Equal(t, want, printable.Text(text))
	}
}

// Line does the same as Text and also replaces newlines and tabs by blanks.
func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"plain, ü and 日本":         "plain, ü and 日本",
		"two\r\nlines\n\tof it\n": "two lines  of it ",
		"\x1b[2J\rover":           `\x1b[2J\x0dover`,
	} {
		require.Equal(t, want, printable.Line(text))
	}
}
