package gorun_test

import (
	"path"
	"regexp"
	"slices"
	"testing"
)

// requirements lists the modules that each go.mod of the tree requires directly. A new requirement is a
// design decision, because every program that imports runtime has the requirements of the root module in
// its go.sum. For the same reason, programs of the tree that require more modules are modules of their own.
var requirements = map[string][]string{
	// The modules of charm.land are for the table of gorun inspect -watch. Only package viewer
	// imports them.
	".":                           {"charm.land/bubbles/v2", "charm.land/bubbletea/v2", "charm.land/lipgloss/v2", "github.com/asynkron/protoactor-go", "github.com/klauspost/compress", "github.com/stretchr/testify", "golang.org/x/sys", "google.golang.org/protobuf"},
	"bench/peers":                 {module, "github.com/stretchr/testify", "gonum.org/v1/plot"},
	"bench/peers/protoactor":      {"github.com/asynkron/protoactor-go", "google.golang.org/grpc", "google.golang.org/protobuf"},
	"examples/arrow":              {"github.com/apache/arrow-go/v18", module, "github.com/stretchr/testify"},
	"examples/gonum":              {module, "github.com/stretchr/testify", "gonum.org/v1/gonum"},
	"cmd/gorun/testdata/manifest": {module, "github.com/stretchr/testify", "k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/yaml"},
}

var (
	// requirement matches a line of a go.mod that requires a module.
	requirement = regexp.MustCompile(`(?m)^(?:require )?\t?(\S+\.\S+/\S+) v\S+( // indirect)?$`)
	// replacement matches the line by which a module takes gorun from this tree.
	replacement = regexp.MustCompile(`(?m)^replace ` + regexp.QuoteMeta(module) + ` => (\S+)$`)
)

func TestModules(t *testing.T) {
	found := 0
	walk(t, func(name string) {
		if path.Base(name) != "go.mod" {
			return
		}
		found++
		text := read(t, name)
		dir := path.Dir(name)
		var direct []string
		for _, m := range requirement.FindAllStringSubmatch(text, -1) {
			if m[2] == "" {
				direct = append(direct, m[1])
			}
		}
		if want := requirements[dir]; !slices.Equal(direct, want) {
			t.Errorf("%s asks for %v; the table says %v", name, direct, want)
		}
		if slices.Contains(direct, module) {
			r := replacement.FindStringSubmatch(text)
			if r == nil || path.Join(dir, r[1]) != "." {
				t.Errorf("%s does not take gorun from this tree: %v", name, r)
			}
		}
	})
	if found != len(requirements) {
		t.Errorf("%d modules found; the table has %d", found, len(requirements))
	}
}
