package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrintable(t *testing.T) {
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
		require.Equal(t, want, printable(text))
	}
}
