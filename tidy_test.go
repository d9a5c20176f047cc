// Package gorun_test checks properties of the source tree itself: who may
// import whom, where unsafe and cgo may appear, and that every package says
// what it is for. It needs no tool but the go command, so it runs everywhere.
package gorun_test

import (
	"bytes"
	"encoding/json"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gorun-hpc/gorun"

// imports lists, for every package, the packages of this module and of other
// modules it may import. The standard library is always allowed. A package
// missing here fails the test: adding a package is a design decision.
var imports = map[string][]string{
	"transport":                  {},
	"transport/shm":              {"transport", "golang.org/x/sys/unix"},
	"transport/rdma":             {"transport", "transport/rdma/verbs", "transport/rdma/rdmacm", "transport/rdma/iwarp", "github.com/asynkron/protoactor-go/actor"},
	"transport/rdma/verbs":       {},
	"transport/rdma/rdmacm":      {"transport/rdma/verbs", "golang.org/x/sys/unix"},
	"transport/rdma/iwarp":       {"transport/rdma/verbs", "transport/rdma/iwarp/mpa", "transport/rdma/iwarp/ddp", "transport/rdma/iwarp/rdmap"},
	"transport/rdma/iwarp/mpa":   {},
	"transport/rdma/iwarp/ddp":   {},
	"transport/rdma/iwarp/rdmap": {"transport/rdma/iwarp/ddp"},
	"runtime/internal/engine":    {"transport"},
	"runtime":                    {"runtime/internal/engine", "transport", "transport/shm", "transport/rdma", "bootstrap", "golang.org/x/sys/unix", "github.com/asynkron/protoactor-go/actor"},
	"bootstrap":                  {"github.com/klauspost/compress/zstd"},
	"collectives":                {"runtime"},
	"cmd/gorun":                  {"bootstrap", "golang.org/x/sys/unix"},
	"bench/latency":              {"runtime", "collectives"},
	"examples/hello":             {"runtime", "collectives"},
}

// cgoPackages may import "C".
var cgoPackages = []string{"transport/rdma/rdmacm"}

type pkg struct {
	ImportPath, Doc string
	Imports         []string
	GoFiles         []string
	CgoFiles        []string
	Standard        bool
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-e", "-json", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles)+len(p.CgoFiles) == 0 {
			continue // tests only
		}
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		allowed, ok := imports[name]
		if !ok {
			t.Errorf("%s: not in the import table", name)
		}
		if p.Doc == "" {
			t.Errorf("%s: no package comment", name)
		}
		if len(p.CgoFiles) > 0 && !slices.Contains(cgoPackages, name) {
			t.Errorf("%s: cgo is confined to %v", name, cgoPackages)
		}
		for _, imp := range p.Imports {
			rel := strings.TrimPrefix(imp, module+"/")
			foreign := rel != imp || strings.Contains(strings.SplitN(imp, "/", 2)[0], ".")
			if foreign && !slices.Contains(allowed, rel) {
				t.Errorf("%s may not import %s", name, rel)
			}
		}
	}
}

func TestFiles(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if got, err := format.Source(src); err != nil || !bytes.Equal(got, src) {
			t.Errorf("%s: not gofmt'ed (%v)", path, err)
		}
		unsafeOK := strings.HasSuffix(path, "_unsafe.go") || strings.HasSuffix(path, "_test.go")
		if bytes.Contains(src, []byte("\"unsafe\"\n")) && !unsafeOK {
			t.Errorf("%s imports unsafe; move it to a file named *_unsafe.go", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
