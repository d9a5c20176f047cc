package verbstest

import (
	"fmt"
	"testing"
)

// statement is one of the numbered statements of the pages, or, with number 0, a
// rule that docs/connection-model.md decides.
type statement struct {
	number int
	name   string
	test   func(r *rig)
}

// Run proves every statement on adapters of harnesses that newHarness makes, each in
// a subtest named by its number and a few words, and the rules in subtests named
// rule_... A provider that cannot do what a statement speaks of answers
// ErrModelNotSupported, and that is then what is tested.
func Run(t *testing.T, newHarness func(tb testing.TB) Harness) {
	t.Helper()
	for _, list := range statements() {
		for _, s := range list {
			t.Run(s.title(), func(t *testing.T) { s.test(newRig(t, newHarness(t))) })
		}
	}
	t.Run("rule_nothing_is_left", func(t *testing.T) { testNothingIsLeft(t, newHarness) })
}

// statements are all of them, by page.
func statements() [][]statement {
	return [][]statement{
		connectStatements, eventStatements, acceptStatements, createStatements, streamStatements,
		cmConnectStatements, cmAcceptStatements, dataRules, lifeRules, queueRules, providerRules, waitRules, raceRules,
	}
}

// title is the name of the subtest.
func (s *statement) title() string {
	if s.number == 0 {
		return "rule_" + s.name
	}
	return fmt.Sprintf("%02d_%s", s.number, s.name)
}
