package collectives

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRulesBetweenNodesDependOnCommonKnowledge checks that no rule for ranks of several nodes depends on a
// condition that members on different nodes may see differently. For example, the ranks of one node may outnumber
// their processors, while those of another node do not.
func TestRulesBetweenNodesDependOnCommonKnowledge(t *testing.T) {
	for i := range table {
		if r := &table[i]; r.near == nil && r.best&near == 0 {
			assert.Zero(t, (r.must|r.best)&(free|crowd|cramped|readable|far|quicker|whole|laned|spread), "%v by %s", r.op, r.name)
		}
	}
}
