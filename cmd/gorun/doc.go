// Command gorun starts the ranks of a job on this machine, carries their
// input, output and signals, and ends them together.
//
//	gorun -np 4 ./examples/heat          # builds the package, starts four ranks
//	gorun -np 4 -l hostname              # any program, lines tagged with the rank
//	gorun -np 1 ./server : -np 8 ./client
//
// gorun -h prints every flag. The rules it follows:
//
//   - The exit code is that of the first rank that failed, 128+n for signal n;
//     124 after -timeout, 125 for an error of gorun itself (bad flags, a
//     failed build, no processes), 126 for a program that cannot be executed,
//     127 for one that is not there.
//   - Ranks that die because the job is being ended are never blamed.
//   - Output is byte-exact. Lines of different ranks do not mix; with -l,
//     -prefix or -timestamp each line starts with its tag. Without these
//     nothing is added.
//   - Nothing outlives the job: no rank, no child of a rank, however gorun or
//     a rank ends. See containment.go for the means.
//
// One process is launcher and node agent. Its parts: options.go reads the
// command line, program.go finds or builds the programs, spawn.go starts the
// ranks, supervise.go is the loop that sees the job through, output.go and
// stdin.go carry bytes, containment.go and watchdog.go clean up.
package main
