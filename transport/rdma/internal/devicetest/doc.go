// Package devicetest has the tests of a device that packages uverbs and ibverbs have in common. They run on the
// kernel's drivers rxe and siw, in a guest machine: the test of the package under test that starts the guest
// machine names the device in an environment variable. Without this variable, the tests are skipped.
//
// The connections of the tests are made without a connection manager, which only RoCE allows. Therefore the tests
// that need a connection are skipped for siw.
package devicetest
