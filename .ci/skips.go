// Command skips reads the JSON output of go test from standard input. As go test does without -json, it prints
// the line of every package, and the output of the tests that failed. At the end it prints the
// names of the tests and packages that failed or did not end, and counts of tests and packages. For each reason for
// which tests were skipped, it appends a line to the file that its argument names.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// event is one line of the JSON, as go doc test2json describes it.
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// logged matches a line that a test wrote with Log, Skip or Error.
var logged = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)\n$`)

// tally contains counts of finished tests and packages, and the names of those that failed.
type tally struct {
	passed, failed, skipped, packages, failedPackages int

	names   []string
	endless []string // tests, and packages without a running test, that had not ended when the input ended
}

// add counts one event.
func (c *tally) add(e event) {
	switch {
	case e.Test == "" && e.Action == "pass":
		c.packages++
	case e.Test == "" && e.Action == "fail":
		c.failedPackages++
		c.names = append(c.names, e.Package)
	case e.Action == "pass":
		c.passed++
	case e.Action == "fail":
		c.failed++
		c.names = append(c.names, e.Package+" "+e.Test)
	case e.Action == "skip" && e.Test != "":
		c.skipped++
	}
}

// String returns a line for each test or package that failed, and the closing line.
func (c *tally) String() string {
	verdict := "ok"
	if c.failed+c.failedPackages+len(c.endless) > 0 || c.packages == 0 {
		verdict = "FAIL"
	}
	var failures strings.Builder
	for _, name := range c.names {
		fmt.Fprintf(&failures, "failed: %s\n", name)
	}
	for _, name := range c.endless {
		fmt.Fprintf(&failures, "failed: %s (did not end)\n", name)
	}
	return fmt.Sprintf("%s%s: %d packages passed, %d failed; %d tests passed, %d failed, %d skipped",
		&failures, verdict, c.packages, c.failedPackages, c.passed, c.failed, c.skipped)
}

// report writes the text of the events to out, followed by a closing line. It returns the reasons for which
// top-level tests, or their subtests, were skipped. There is one line for each reason of a top-level test.
func report(in io.Reader, out io.Writer) ([]string, error) {
	output := map[string][]string{} // the output of each test that has not ended yet
	running := map[string]bool{}    // the packages that have not ended yet
	skips := map[string]int{}
	count := &tally{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			for _, key := range slices.Sorted(maps.Keys(output)) {
				fmt.Fprint(out, strings.Join(output[key], ""))
				running[key] = true
				delete(running, key[:strings.IndexByte(key, ' ')])
			}
			count.endless = slices.Sorted(maps.Keys(running))
			fmt.Fprintln(out, count)
			return numbered(skips), nil
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			fmt.Fprintf(out, "%s", line) // the line is not JSON: it is a message of the go command itself
			continue
		}
		count.add(e)
		if e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip") {
			delete(running, e.Package)
		} else if e.Action == "start" {
			running[e.Package] = true
		}
		key := e.Package + " " + e.Test
		switch {
		case e.Action == "build-output":
			fmt.Fprint(out, e.Output)
		case e.Action == "output" && e.Test == "":
			if e.Output != "PASS\n" && !strings.HasPrefix(e.Output, "-test.shuffle") {
				fmt.Fprint(out, e.Output)
			}
		case e.Action == "output":
			output[key] = append(output[key], e.Output)
		case e.Action == "skip" && e.Test != "":
			top, _, _ := strings.Cut(e.Test, "/")
			skips[e.Package+" "+top+": "+reason(output[key])]++
			delete(output, key)
		case e.Action == "fail" && e.Test != "":
			fmt.Fprint(out, strings.Join(output[key], ""))
			delete(output, key)
		case e.Action == "fail": // after a panic or a timeout some tests have no end event
			for _, key := range slices.Sorted(maps.Keys(output)) {
				if strings.HasPrefix(key, e.Package+" ") {
					fmt.Fprint(out, strings.Join(output[key], ""))
					delete(output, key)
				}
			}
		case e.Action == "pass" && e.Test != "":
			delete(output, key)
		case e.Action == "pass": // benchmarks have no end event
			maps.DeleteFunc(output, func(key string, _ []string) bool { return strings.HasPrefix(key, e.Package+" ") })
		}
	}
}

// numbered returns the keys of skips in order. It appends the number of tests to a key if several tests have
// this key.
func numbered(skips map[string]int) []string {
	var lines []string
	for _, line := range slices.Sorted(maps.Keys(skips)) {
		if n := skips[line]; n > 1 {
			line += fmt.Sprintf(" (%d tests)", n)
		}
		lines = append(lines, line)
	}
	return lines
}

// reason returns the last message that a skipped test logged.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		if m := logged.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return "no reason given"
}

func main() {
	skips, err := report(os.Stdin, os.Stdout)
	if err == nil {
		err = appendLines(os.Args[1], skips)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}
}

// appendLines appends lines to a file.
func appendLines(name string, lines []string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(f, line); err != nil {
			return err
		}
	}
	return f.Close()
}
