package gorun_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// imports lists, for every package, which packages of this module and of other modules the
// package may import. The standard library is always allowed. A package without an entry fails
// the test, because a new package is a design decision. An entry that ends in "/..." covers the
// packages below it that have no entry of their own.
var imports = map[string][]string{
	".ci": {}, // CI runs its files by name, because it is not a package of ./...

	"transport":               {},
	"transport/transporttest": {"transport", "github.com/stretchr/testify/require"},
	"internal/processor":      {},
	"internal/blocking":       {"golang.org/x/sys/unix"},
	"internal/cgroup":         {"golang.org/x/sys/unix"},
	"internal/monitor":        {"golang.org/x/sys/unix"},
	"internal/registry":       {"github.com/asynkron/protoactor-go/actor"},
	"internal/hugepages":      {"internal/blocking", "golang.org/x/sys/unix"},
	"internal/flight":         {"internal/callsite", "internal/processor"},
	"internal/journal":        {},
	"internal/packing":        {"github.com/klauspost/compress/s2"},
	"internal/ranges":         {},
	"internal/toggle":         {},
	"internal/affinity":       {"golang.org/x/sys/unix"},
	"transport/shm":           {"transport", "internal/blocking", "internal/flight", "internal/processor", "internal/hugepages", "golang.org/x/sys/unix"},

	"transport/rdma/verbs/provider":  {},
	"transport/rdma/verbs":           {"transport/rdma/verbs/provider"},
	"transport/rdma/verbs/verbstest": {"transport/rdma/verbs", "transport/rdma/verbs/provider"},

	"transport/rdma/iwarp/mpa":   {"golang.org/x/sys/cpu"},
	"transport/rdma/iwarp/ddp":   {},
	"transport/rdma/iwarp/rdmap": {"transport/rdma/iwarp/ddp", "transport/rdma/iwarp/mpa"},
	"transport/rdma/iwarp": {
		"internal/blocking", "internal/journal", "internal/packing", "transport/rdma/verbs/provider", "transport/rdma/iwarp/mpa", "transport/rdma/iwarp/ddp", "transport/rdma/iwarp/rdmap", "github.com/klauspost/compress/s2", "golang.org/x/sys/unix",
		"transport/rdma/internal/certificate", // only tests import it
	},

	"transport/rdma/internal/negotiation": {},
	"transport/rdma/internal/certificate": {"transport/rdma/internal/negotiation"},
	"transport/rdma/internal/peering":     {"transport/rdma/internal/negotiation"},
	"transport/rdma/internal/credit":      {},
	"transport/rdma/internal/stripe":      {},
	"transport/rdma/internal/rdmacm":      {"golang.org/x/sys/unix"},
	"transport/rdma/internal/uverbs":      {"golang.org/x/sys/unix"},
	"transport/rdma/internal/ibverbs":     {"transport/rdma/internal/uverbs", "golang.org/x/sys/unix"},
	"transport/rdma/internal/devicetest":  {"transport/rdma/internal/uverbs", "golang.org/x/sys/unix", "github.com/stretchr/testify/require"},
	"transport/rdma/internal/connection":  {"transport/rdma/verbs/provider", "transport/rdma/internal/rdmacm", "golang.org/x/sys/unix"},
	"transport/rdma/kernel": {
		"internal/blocking", "transport/rdma/internal/connection", "transport/rdma/internal/ibverbs", "transport/rdma/internal/rdmacm", "transport/rdma/internal/uverbs", "transport/rdma/verbs/provider", "golang.org/x/sys/unix",
	},
	"transport/rdma/probe": {"internal/ranges", "transport", "golang.org/x/sys/unix"},

	"transport/rdma": {
		"internal/journal", "internal/registry", "transport", "transport/rdma/verbs", "transport/rdma/iwarp", "transport/rdma/internal/negotiation", "transport/rdma/internal/certificate",
		"transport/rdma/internal/peering", "transport/rdma/internal/credit", "transport/rdma/internal/stripe", "github.com/asynkron/protoactor-go/actor",
	},

	"internal/callsite":         {},
	"internal/goroutine":        {},
	"internal/localjob":         {"transport"},
	"internal/malice":           {"github.com/asynkron/protoactor-go/actor"},                                                                                            // tests only
	"internal/phases":           {"collectives", "runtime", "runtime/actors", "github.com/asynkron/protoactor-go/actor", "github.com/asynkron/protoactor-go/scheduler"}, // tests only
	"internal/simulate":         {"internal/localjob", "runtime", "transport"},
	"internal/simulate/program": {"collectives", "internal/simulate", "runtime", "runtime/actors", "runtime/checkpoint", "github.com/asynkron/protoactor-go/actor"},

	"runtime/internal/progress": {},
	"runtime/internal/engine":   {"transport", "internal/flight", "internal/processor", "runtime/internal/progress"},
	"runtime/internal/arena":    {"transport"},
	"runtime/internal/layout":   {},
	"runtime/internal/port":     {"runtime/internal/engine", "runtime/internal/arena", "transport"},
	"runtime/internal/cost":     {}, // contains only tests and benchmarks
	"runtime/internal/value":    {"runtime/internal/layout"},
	"runtime": {
		"internal/affinity", "internal/callsite", "internal/flight", "internal/goroutine", "internal/hugepages", "internal/journal", "internal/localjob", "internal/monitor", "internal/processor", "internal/ranges", "internal/toggle", "runtime/internal/engine", "runtime/internal/arena", "runtime/internal/layout", "runtime/internal/port", "runtime/internal/value", "transport", "transport/shm", "transport/rdma", "transport/rdma/iwarp",
		"transport/rdma/kernel", "transport/rdma/verbs", "transport/rdma/probe", "bootstrap", "golang.org/x/sys/unix",
	},

	"runtime/actors": {
		"internal/processor", "internal/registry", "runtime", "runtime/actors/internal/codec", "runtime/actors/internal/deadlock",
		"runtime/internal/engine", "runtime/internal/port", "transport", "github.com/asynkron/protoactor-go/actor",
		"google.golang.org/protobuf/proto", // only tests import it
	},
	"runtime/actors/internal/codec": {
		"runtime/internal/layout", "runtime/internal/value", "github.com/asynkron/protoactor-go/actor",
		"google.golang.org/protobuf/proto", "google.golang.org/protobuf/reflect/protoreflect", "google.golang.org/protobuf/reflect/protoregistry",
		"google.golang.org/protobuf/runtime/protoimpl",
		// Only tests import the following.
		"google.golang.org/protobuf/reflect/protodesc", "google.golang.org/protobuf/types/descriptorpb", "google.golang.org/protobuf/types/dynamicpb",
	},
	"runtime/actors/internal/deadlock": {},

	"runtime/checkpoint": {"collectives", "runtime", "internal/packing", "internal/toggle", "github.com/klauspost/compress/s2"},

	"bootstrap":              {"bootstrap/internal/pmi", "internal/processor", "internal/ranges", "github.com/klauspost/compress/zstd", "golang.org/x/sys/unix"},
	"bootstrap/internal/pmi": {},
	"cmd/gorun":              {"bootstrap", "internal/blocking", "internal/cgroup", "internal/flight", "cmd/gorun/internal/allocation", "cmd/gorun/internal/doctor", "cmd/gorun/internal/inspection", "cmd/gorun/internal/link", "cmd/gorun/internal/linux", "cmd/gorun/internal/placement", "cmd/gorun/internal/printable", "cmd/gorun/internal/viewer", "cmd/gorun/internal/watchdog", "github.com/klauspost/compress/gzip", "github.com/klauspost/compress/zstd", "golang.org/x/sys/unix"},

	"cmd/gorun/internal/allocation": {"internal/ranges"},
	"cmd/gorun/internal/linux":      {},
	"cmd/gorun/internal/doctor":     {"cmd/gorun/internal/linux", "golang.org/x/sys/unix"},
	"cmd/gorun/internal/inspection": {"bootstrap", "internal/flight", "golang.org/x/sys/unix"},
	"cmd/gorun/internal/link":       {"cmd/gorun/internal/placement", "internal/flight"},
	"cmd/gorun/internal/placement":  {"internal/ranges"},
	"cmd/gorun/internal/printable":  {},
	"cmd/gorun/internal/watchdog":   {},
	"cmd/gorun/internal/viewer": {
		"cmd/gorun/internal/inspection", "cmd/gorun/internal/linux", "cmd/gorun/internal/printable", "charm.land/bubbles/v2/help", "charm.land/bubbles/v2/key", "charm.land/bubbles/v2/viewport", "charm.land/bubbletea/v2", "charm.land/lipgloss/v2", "golang.org/x/sys/unix",
	},

	"collectives": {
		"internal/callsite", "internal/flight", "internal/processor", "runtime", "collectives/internal/kernel", "collectives/internal/message", "collectives/internal/node",
		"collectives/internal/private", "collectives/internal/tier", "internal/hugepages", "internal/toggle",
	},
	"collectives/internal/private":             {"collectives/internal/node", "golang.org/x/sys/unix"},
	"collectives/internal/kernel":              {"internal/processor"},
	"collectives/internal/message":             {"runtime", "collectives/internal/kernel"},
	"collectives/internal/message/messagetest": {"collectives/internal/kernel", "collectives/internal/message"},
	"collectives/internal/tier":                {"collectives/internal/message", "collectives/internal/node"},
	"collectives/internal/node":                {"runtime", "collectives/internal/kernel", "collectives/internal/message", "internal/processor"},
	"collectives/simulation":                   {"collectives/internal/message", "collectives/internal/virtual"},
	"collectives/internal/virtual":             {"collectives/internal/kernel", "collectives/internal/message", "golang.org/x/sys/unix"},

	"examples/...":  {"runtime", "runtime/checkpoint", "collectives", "examples/internal/options", "examples/internal/palette", "runtime/actors", "github.com/asynkron/protoactor-go/actor"},
	"examples/rdma": {"transport/rdma/verbs", "transport/rdma/verbs/provider", "transport/rdma/iwarp"},
	"examples/arrow": { // a module of its own
		"runtime", "examples/arrow/arena", "github.com/apache/arrow-go/v18/arrow", "github.com/apache/arrow-go/v18/arrow/array",
	},
	"examples/arrow/arena": {
		"runtime", "github.com/apache/arrow-go/v18/arrow", "github.com/apache/arrow-go/v18/arrow/array", "github.com/apache/arrow-go/v18/arrow/memory",
	},
	"examples/gonum": { // a module of its own
		"runtime", "collectives", "gonum.org/v1/gonum/blas/blas64", "gonum.org/v1/gonum/mat",
	},
	"examples/internal/options": {"runtime"},
	"examples/internal/palette": {},

	"bench": {},
	"bench/...": {
		"runtime", "runtime/checkpoint", "collectives", "bench/internal/osu", "bench/internal/npb",
	},
	"bench/adapters": {"transport/rdma/kernel", "transport/rdma/probe", "transport/rdma/verbs", "golang.org/x/sys/unix"},
	"bench/launch":   {"bench/internal/stage", "internal/testbed/launch", "internal/testbed/nscluster"},
	"bench/survive":  {"runtime", "collectives", "bench/internal/osu", "internal/testbed/launch", "internal/testbed/nscluster"},
	"bench/actors": {
		"runtime", "runtime/actors", "github.com/asynkron/protoactor-go/actor",
		"google.golang.org/protobuf/types/known/wrapperspb",
	},
	"bench/peers/protoactor": { // a module of its own
		"github.com/asynkron/protoactor-go/actor", "github.com/asynkron/protoactor-go/remote", "google.golang.org/grpc",
		"google.golang.org/protobuf/types/known/wrapperspb",
	},
	"bench/peers/netrpc": {},
	"bench/peers":        {"bench/internal/distance", "bench/internal/stage", "internal/testbed/launch", "internal/testbed/nscluster", "bench/peers/internal/chart"}, // a module of its own
	"bench/peers/internal/chart": {
		"gonum.org/v1/plot/font", "gonum.org/v1/plot/font/liberation", "gonum.org/v1/plot/text",
		"gonum.org/v1/plot/vg", "gonum.org/v1/plot/vg/draw", "gonum.org/v1/plot/vg/vgimg",
	},
	"bench/simulate":          {"bench/internal/distance", "bench/internal/osu", "collectives/simulation"},
	"bench/internal/distance": {"golang.org/x/sys/unix"},
	"bench/internal/osu":      {"runtime", "collectives"},
	"bench/internal/npb":      {"runtime", "runtime/checkpoint", "collectives", "bench/internal/npb/row"},
	"bench/internal/stage":    {},
	"bench/internal/npb/row":  {"golang.org/x/sys/cpu"},

	"internal/mutation":        {"internal/mutation/breaks"},
	"internal/mutation/breaks": {},

	"internal/testbed/...":           {"golang.org/x/sys/unix"},
	"internal/testbed/nscluster":     {"internal/cgroup", "golang.org/x/sys/unix"},
	"internal/testbed/rdmavm/guest":  {"internal/testbed/rdmavm"},
	"internal/testbed/rdmavm/stream": {"collectives", "runtime", "runtime/actors", "github.com/asynkron/protoactor-go/actor"},
	"internal/testbed/slurm":         {"internal/testbed/nscluster"},
	"internal/testbed/nulldevice":    {"transport/rdma/verbs/provider"},
}

// testImports lists what every test may import, in addition to the imports of its package.
var testImports = []string{
	"github.com/stretchr/testify/require", "github.com/stretchr/testify/assert", "golang.org/x/sys/unix",
}

// integration lists additional packages that the tests of a package may import, for example because these tests
// run the package over a real transport.
var integration = map[string][]string{
	"transport/rdma/verbs":    {"transport/rdma/iwarp", "transport/rdma/verbs/verbstest"},
	"runtime/internal/engine": {"transport/shm", "transport/rdma", "transport/rdma/iwarp"},
	"runtime/internal/cost": {
		"internal/localjob", "runtime", "runtime/internal/engine", "transport", "transport/rdma", "transport/rdma/verbs", "transport/rdma/verbs/provider",
	},
	"internal/malice": {
		"bootstrap", "internal/localjob", "runtime", "runtime/actors", "transport", "transport/rdma", "transport/rdma/iwarp",
	},
	"internal/testbed/nulldevice": {"transport/rdma/verbs", "transport/rdma/verbs/verbstest"},

	"examples/rdma": {"internal/testbed/rdmavm"},
	"examples/heat": {"internal/simulate"},
	"examples/pi":   {"internal/simulate"},
	"examples/ring": {"internal/simulate"},

	"transport/rdma/internal/rdmacm":     {"transport/rdma/verbs", "transport/rdma/iwarp"},
	"transport/rdma/internal/uverbs":     {"internal/testbed/rdmavm", "transport/rdma/internal/devicetest"},
	"transport/rdma/internal/ibverbs":    {"internal/testbed/rdmavm", "transport/rdma/internal/devicetest"},
	"bench":                              {"collectives"},
	"collectives":                        {"internal/testbed/launch"},
	"collectives/internal/virtual":       {"collectives/internal/message/messagetest"},
	"collectives/internal/message":       {"collectives/internal/message/messagetest"},
	"internal/simulate":                  {"internal/simulate/program"},
	"transport/rdma/iwarp":               {"transport/rdma/kernel", "transport/rdma/verbs", "transport/rdma/verbs/verbstest", "internal/testbed/rdmavm"},
	"transport/rdma":                     {"transport/rdma/verbs/provider", "transport/rdma/kernel", "internal/testbed/rdmavm"},
	"transport/rdma/internal/connection": {"transport/rdma/internal/uverbs"},
	"transport/rdma/kernel":              {"transport/rdma/verbs", "transport/rdma/verbs/verbstest", "internal/testbed/rdmavm"},
}

// cgoPackages lists the packages that may import "C".
var cgoPackages = []string{"transport/rdma/internal/ibverbs"}

// allowed returns the packages that a package may import, and false if the package has no entry.
func allowed(dir string) ([]string, bool) {
	if list, ok := imports[dir]; ok {
		return list, true
	}
	for up := path.Dir(dir); up != "."; up = path.Dir(up) {
		if list, ok := imports[up+"/..."]; ok {
			return list, true
		}
	}
	return nil, false
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		list, ok := allowed(s.dir)
		if strings.Contains(s.dir, "testdata") || s.dir == "." {
			continue
		}
		if !ok {
			t.Errorf("%s: package %s is not in the import table", s.path, s.dir)
			continue
		}
		for _, imp := range s.imported(t) {
			rel := strings.TrimPrefix(imp, module+"/")
			inModule := rel != imp
			foreign := !inModule && strings.Contains(strings.SplitN(imp, "/", 2)[0], ".")
			switch {
			case !inModule && !foreign, slices.Contains(list, rel):
			case s.isTest() && (inModule && mayTest(s.dir, rel) || slices.Contains(testImports, rel)):
			default:
				t.Errorf("%s: %s may not import %s", s.path, s.dir, rel)
			}
		}
	}
}

// mayTest reports whether the tests of a package may import another package of the module. They may import
// the package itself, packages for tests, packages in lower layers, and what integration lists for the package.
func mayTest(dir, imported string) bool {
	if imported == dir || imported == "transport/transporttest" || slices.Contains(integration[dir], imported) || strings.HasPrefix(imported, "internal/testbed/") {
		return true
	}
	list, _ := allowed(dir)
	return slices.ContainsFunc(list, func(below string) bool {
		return strings.HasPrefix(below+"/", imported+"/") || mayTest(below, imported)
	})
}

// TestImportTable checks the table itself. The table must have no cycle. Every package of this
// module that an entry names must itself be covered by an entry, so that the test finds typing errors.
func TestImportTable(t *testing.T) {
	var visit func(name string, above []string)
	visit = func(name string, above []string) {
		if slices.Contains(above, name) {
			t.Fatalf("the table has a cycle: %v", append(above, name))
		}
		list, ok := allowed(name)
		if !ok && !strings.Contains(strings.SplitN(name, "/", 2)[0], ".") && !strings.HasSuffix(name, "/...") {
			t.Errorf("the table lets %v import %s, which has no entry", above, name)
		}
		if strings.HasSuffix(name, "/...") {
			list = imports[name]
		}
		for _, below := range list {
			visit(below, append(slices.Clone(above), name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		visit(name, nil)
	}
}

// TestLayersAreWhole checks that the section Layers of the architecture names every entry of imports, by its path or
// by the last element of its path. The entries of .ci, bench and examples are not checked, nor those below
// internal/testbed and internal/mutation.
func TestLayersAreWhole(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/architecture.md"), "\n## Layers\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for dir := range imports {
		switch top, _, _ := strings.Cut(dir, "/"); {
		case top == "bench", top == "examples", top == ".ci",
			strings.HasPrefix(dir, "internal/testbed/"), strings.HasPrefix(dir, "internal/mutation/"):
			continue
		}
		name := strings.TrimPrefix(dir, "internal/")
		if !strings.Contains(section, "`"+name+"`") && !strings.Contains(section, "`"+path.Base(dir)+"`") {
			t.Errorf("docs/architecture.md: the layers do not name package %s", dir)
		}
	}
}
