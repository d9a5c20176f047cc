// Package verbstest is the specification of package verbs in the form of tests. [Run] checks the 71
// statements of docs/connection-model.md on the adapters of a [Harness], in one subtest per
// statement. It also checks the further rules of that document. The package also has [Network], a
// provider in the memory of the process. The suite itself is tested with this provider.
//
// Unstable: any release may change this package, also after v1.
package verbstest
