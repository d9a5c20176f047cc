package runtime_test

// envProgram names the program that a process started by a test runs instead of
// the tests.
const envProgram = "GORUN_TEST_PROGRAM"

// programs are what such processes run.
var programs = map[string]func(){}
