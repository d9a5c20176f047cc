package breaks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/mutation/breaks"
)

func TestParse(t *testing.T) {
	all, err := breaks.Parse("a/b", `# first
queue.go
-	old
+	new

# second: three changes, two of them in one file
pop.go
 	context
-	gone

pop.go
`)
	require.ErrorContains(t, err, "11: ", "a file outside of a break")
	require.Nil(t, all)

	all, err = breaks.Parse("a/b", "# first\nq.go\n-old\n+new\n\n\n# second\np.go\n context\n-gone\np.go\n-x\nsub/r.s\n-\n+y\n")
	require.NoError(t, err)
	require.Equal(t, []breaks.Break{
		{Name: "first", Package: "a/b", Line: 1, Changes: []breaks.Change{{File: "q.go", Line: 3, Old: []string{"old"}, New: []string{"new"}}}},
		{Name: "second", Package: "a/b", Line: 7, Changes: []breaks.Change{
			{File: "p.go", Line: 9, Old: []string{"context", "gone"}, New: []string{"context"}},
			{File: "p.go", Line: 12, Old: []string{"x"}},
			{File: "sub/r.s", Line: 14, Old: []string{""}, New: []string{"y"}},
		}},
	}, all)
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"q.go\n-a\n":                            "1: a break begins",
		"# a\n# b\n":                            "2: an empty line separates",
		"#\n":                                   "1: the break has no name",
		"# a\n-x\n":                             "2: no file",
		"# a\n\n":                               "2: \"a\" ends without a change",
		"# a\nq.go":                             "2: \"a\" ends without a change",
		"# a\nq.go\nr.go\n-x\n":                 "3: nothing changes in q.go",
		"# a\nq.go\n+x\n":                       "4: \"a\" does not say where",
		"# a\nq.go\n x\n":                       "4: \"a\" changes nothing",
		"# a\nq_test.go\n-x\n":                  "2: \"q_test.go\" is not",
		"# a\n../q.go\n-x\n":                    "2: \"../q.go\" is not",
		"# a\n/q.go\n-x\n":                      "2: \"/q.go\" is not",
		"# a\nq.go\n-x\n\n# a\nq.go\n-x\n+y\n":  "9: \"a\" is there twice",
		"# a\nq.go\n-x\n+y\n\n\n# b\n\nq.go\n-": "8: \"b\" ends without",
	} {
		_, err := breaks.Parse("p", text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}
