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

// statementCount is the number of statements of docs/connection-model.md.
const statementCount = 71

// Run proves every statement on adapters of harnesses that newHarness makes, each in
// a subtest named by its number and a few words, and the rules in subtests named
// rule_... A provider that cannot do what a statement speaks of answers
// ErrModelNotSupported, and that is then what is tested.
func Run(t *testing.T, newHarness func(tb testing.TB) Harness) {
	t.Helper()
	numbers := map[int]bool{}
	for _, list := range [][]statement{
		connectStatements, eventStatements, acceptStatements, createStatements, streamStatements,
		cmConnectStatements, cmAcceptStatements, dataRules, lifeRules, queueRules, waitRules, raceRules,
	} {
		for _, s := range list {
			name := fmt.Sprintf("%02d_%s", s.number, s.name)
			if s.number == 0 {
				name = "rule_" + s.name
			}
			numbers[s.number] = true
			t.Run(name, func(t *testing.T) { s.test(newRig(t, newHarness(t))) })
		}
	}
	for n := range statementCount {
		if !numbers[n+1] {
			t.Errorf("statement %d has no test", n+1)
		}
	}
}
