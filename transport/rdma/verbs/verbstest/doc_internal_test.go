package verbstest

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// statementCount is the number of statements of the five manual pages.
const statementCount = 71

// TestDocumentNamesEverySubtest checks that docs/connection-model.md names every subtest of the suite, and
// that the suite has as many numbered subtests as the manual pages have statements.
func TestDocumentNamesEverySubtest(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/connection-model.md")
	require.NoError(t, err)
	numbered := 0
	for _, list := range statements() {
		for _, s := range list {
			require.Contains(t, string(text), "`"+s.title()+"`")
			if s.number > 0 {
				numbered++
			}
		}
	}
	require.Equal(t, statementCount, numbered)
}
