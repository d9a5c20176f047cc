package main

import (
	"fmt"
	"strings"
)

// manual returns the manual page, in the macros of man(7), with the text of -h.
func manual() string {
	var b strings.Builder
	b.WriteString(".TH GORUN 1 \"\" gorun \"User Commands\"\n.SH NAME\ngorun \\- start the ranks of a job, on this machine or on several\n")
	_, rest, _ := strings.Cut(usageHead, "usage: ")
	synopsis, description, _ := strings.Cut(rest, "\n")
	b.WriteString(".SH SYNOPSIS\n" + roff(synopsis) + "\n.SH DESCRIPTION\n" + paragraphs(description))
	b.WriteString(".SH OPTIONS\n")
	for _, g := range flagGroups {
		fmt.Fprintf(&b, ".SS %s\n", strings.ToUpper(g.title[:1])+g.title[1:])
		for _, f := range g.flags {
			names := "\\fB" + roff("-"+strings.Join(f.names, ", -")) + "\\fR"
			if f.value != "" {
				names += f.separator() + "\\fI" + roff(f.value) + "\\fR"
			}
			fmt.Fprintf(&b, ".TP\n%s\n%s\n", names, roff(f.help))
		}
	}
	for part := range strings.SplitSeq(strings.Trim(usageTail, "\n"), "\n\n") {
		title, text, _ := strings.Cut(part, ":")
		fmt.Fprintf(&b, ".SH %s\n", strings.ToUpper(title))
		if title == "examples" || title == "settings of a rank" { // man(1) must not join the lines
			b.WriteString(".nf\n" + roff(strings.Trim(text, "\n ")) + "\n.fi\n")
		} else {
			b.WriteString(paragraphs(text))
		}
	}
	return b.String()
}

// paragraphs converts text, in which empty lines separate paragraphs, into paragraphs of man(7). man(1) fills
// the lines of these paragraphs.
func paragraphs(text string) string {
	var b strings.Builder
	for i, p := range strings.Split(strings.Trim(text, "\n "), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		for line := range strings.SplitSeq(p, "\n") {
			b.WriteString(roff(strings.TrimSpace(line)) + "\n")
		}
	}
	return b.String()
}

// roff escapes characters that have a meaning in roff(7).
func roff(text string) string {
	text = strings.NewReplacer("\\", "\\e", "-", "\\-").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = "\\&" + line
		}
	}
	return strings.Join(lines, "\n")
}
