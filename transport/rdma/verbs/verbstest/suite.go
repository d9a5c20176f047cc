package verbstest

import (
	"fmt"
	"testing"
)

// statement is one of the numbered statements of the manual pages. If its number is 0, it is a
// further rule of docs/connection-model.md.
type statement struct {
	number int
	name   string
	test   func(r *rig)
}

// Run checks every statement and every rule on adapters of harnesses that newHarness makes. The
// name of a statement's subtest consists of the number of the statement and a few words. The name
// of a rule's subtest begins with rule_. If a provider does not support a feature that a
// statement requires, the subtest checks that package verbs returns ErrModelNotSupported, or is
// skipped.
func Run(t *testing.T, newHarness func(tb testing.TB) Harness) {
	t.Helper()
	for _, list := range statements() {
		for _, s := range list {
			t.Run(s.title(), func(t *testing.T) { s.test(newRig(t, newHarness(t))) })
		}
	}
	t.Run("rule_nothing_is_left", func(t *testing.T) { testNothingIsLeft(t, newHarness) })
}

// statements returns all statements and rules, in lists by manual page or subject.
func statements() [][]statement {
	return [][]statement{
		connectStatements, eventStatements, acceptStatements, createStatements, streamStatements,
		cmConnectStatements, cmAcceptStatements, dataRules, lifeRules, queueRules, providerRules, waitRules, attendRules, raceRules,
	}
}

// title returns the name of the statement's subtest.
func (s *statement) title() string {
	if s.number == 0 {
		return "rule_" + s.name
	}
	return fmt.Sprintf("%02d_%s", s.number, s.name)
}
