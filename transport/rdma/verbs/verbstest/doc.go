// Package verbstest is the specification of package verbs as tests. [Run] proves the
// 71 statements of docs/connection-model.md on the adapters of a [Harness], one
// subtest for each, and the rules of the pages beside them. It also holds [Network],
// a provider in the memory of the process, which proves the suite itself.
//
// Unstable: any release may change this package, also after v1.
package verbstest
