//go:build !race

package progress

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// none stands for no arrival.
const none = -1

// searches lists the bounds within which every order of events is tried.
var searches = []bounds{
	{name: "messages", waiters: [3]kind{message, message, message}, background: true, arrivals: [2]int8{0, 1}, closes: true, call: true},
	{name: "words", waiters: [3]kind{message, word, absent}, background: true, arrivals: [2]int8{0, 1}, cancel: true, abort: true, closes: true},
	{name: "a transport fails", waiters: [3]kind{message, word, absent}, background: true, arrivals: [2]int8{0, failing}, closes: true, post: true},
	{name: "server", waiters: [3]kind{message, absent, absent}, server: true, background: true, arrivals: [2]int8{modelServer, 0}, closes: true, call: true, post: true},
	{name: "server and word", waiters: [3]kind{word, absent, absent}, server: true, background: true, arrivals: [2]int8{modelServer, 0}, abort: true, closes: true},
	{name: "server and a transport that fails", waiters: [3]kind{message, absent, absent}, server: true, arrivals: [2]int8{modelServer, failing}, closes: true},
}

// longSearches lists the bounds for GORUN_SOAK. These searches take some minutes and 2 GiB of
// memory.
var longSearches = []bounds{
	{name: "server, message and word", waiters: [3]kind{message, word, absent}, server: true, background: true, arrivals: [2]int8{modelServer, 0}, abort: true, closes: true},
	{name: "sleeps end early", waiters: [3]kind{message, word, absent}, background: true, arrivals: [2]int8{0, 1}, cancel: true, abort: true, closes: true, early: true, call: true},
	{name: "all", waiters: [3]kind{message, word, message}, server: true, background: true, arrivals: [2]int8{modelServer, 0}, cancel: true, abort: true, closes: true},
}

// TestEveryOrderOfEvents checks four rules for every order of events. No goroutine sleeps while
// something has arrived for it, at most one goroutine has the token, no ring is lost, and a close
// ends all waits. The transitions that occur must be exactly those in the table of the package
// comment.
func TestEveryOrderOfEvents(t *testing.T) {
	all, met := searches, make(transitions)
	if os.Getenv("GORUN_SOAK") == "1" {
		all = slices.Concat(all, longSearches)
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			c.seen = &met
			f := search(c)
			require.Empty(t, f.fault, "after\n%s", f.path)
			t.Logf("%d states", f.states)
		})
	}
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	said := table(t, string(text))
	for row := range met.rows() {
		require.True(t, said[row], "the table does not have the transition: %s", row)
	}
	for row := range said {
		require.True(t, met.rows()[row], "the table has a transition that never occurs: %s", row)
	}
}

// effects has the texts of Do. Resume is missing, because the table describes it in words.
var effects = map[Do]string{Disarm: "Disarm", Ring: "Ring", Lend: "Lend"}

// rows returns the transitions that change the state or request an action.
func (s transitions) rows() map[string]bool {
	rows := make(map[string]bool)
	for x := range s {
		var does []string
		for _, d := range []Do{Disarm, Ring, Lend} {
			if x.does&d != 0 {
				does = append(does, effects[d])
			}
		}
		if x.wakes {
			does = append(does, "Wake")
		}
		if len(does) > 0 || x.from != x.to {
			rows[row(x.event, x.from.String(), x.to.String(), strings.Join(does, "+"))] = true
		}
	}
	return rows
}

// row returns the text of a transition.
func row(event, from, to, does string) string {
	return fmt.Sprintf("%s: from %s to %s: %s", event, from, to, strings.TrimPrefix(does, "-"))
}

// table returns the rows of the table in the package comment.
func table(t *testing.T, text string) map[string]bool {
	t.Helper()
	rows := make(map[string]bool)
	_, text, ok := strings.Cut(text, "does\n")
	require.True(t, ok)
	for _, line := range regexp.MustCompile(`(?m)^//\t(.+)$`).FindAllStringSubmatch(text, -1) {
		cells := regexp.MustCompile(`  +`).Split(line[1], -1)
		require.Len(t, cells, 4, line[1])
		for from := range strings.SplitSeq(cells[1], ", ") {
			for to := range strings.SplitSeq(cells[2], ", ") {
				for does := range strings.SplitSeq(cells[3], ", ") {
					if to == "same" {
						to = from
					}
					rows[row(cells[0], from, to, does)] = true
				}
			}
		}
	}
	require.NotEmpty(t, rows)
	return rows
}

// TestSearchFindsFlawsOfTheDriver checks that the search finds defects of a driver.
// internal/mutation/breaks has defects of the token.
func TestSearchFindsFlawsOfTheDriver(t *testing.T) {
	for _, c := range []struct {
		name  string
		flaw  flaw
		fault string
	}{
		{"the Sleeper is prepared after the transports are armed", prepareLate, "no ring was sent"},
		{"no goroutine looks at the words", askNone, "waits for something that has arrived"},
		{"only the parked are told that their word has changed", askParkedOnly, "waits for something that has arrived"},
		{"the token is lent without a look for words", lendBlindly, "waits for something that has arrived"},
		{"whose wait is over is not roused", fireQuietly, "waits for something that has arrived"},
		{"the end of the engine is told only to those that wait for long", tellListedOnly, "a goroutine waits after the close"},
		{"the background rests for ever", resumeNone, "a goroutine waits after the close"},
		{"the transports stay armed", keepArmed, "no goroutine sleeps"},
		{"a peer rings before it changes the word", ringBeforeWord, "waits for something that has arrived"},
		{"no goroutine looks whether its wait is over before it sleeps", sleepOver, "waits for something that has arrived"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f found
			for _, b := range searches {
				if b.flaw = c.flaw; f.fault == "" {
					f = search(b)
				}
			}
			require.Contains(t, f.fault, c.fault)
		})
	}
}
