// Command gorun starts the ranks of a job on this machine or on several, carries
// their input, output and signals, and ends them together.
//
//	gorun -np 4 ./examples/heat          # builds the package, starts four ranks
//	gorun -np 4 -l hostname              # any program, lines tagged with the rank
//	gorun -np 1 ./server : -np 8 ./client
//	gorun -host h1:2,h2:2 ./prog         # four ranks on two hosts, through ssh
//
// gorun -h prints every flag. The rules it follows:
//
//   - The exit code is that of the first rank that failed, 128+n for signal n;
//     86 after a deadlock, 124 after -timeout, 125 for an error of gorun itself (bad flags, a
//     failed build, no processes), 126 for a program that cannot be executed,
//     127 for one that is not there.
//   - Ranks that die because the job is being ended are never reported as the cause.
//   - Output is byte-exact. Lines of different ranks do not mix; with -l,
//     -prefix or -timestamp each line starts with its tag. Without these
//     nothing is added.
//   - Nothing outlives the job: no rank, no child of a rank, however gorun or
//     a rank ends. See containment.go for the means.
//
// On one machine, one process is launcher and node agent. Its parts: options.go
// reads the command line, program.go finds or builds the programs, node.go and
// spawn.go start the ranks, supervise.go is the loop that supervises the job, output.go and
// stdin.go forward bytes, containment.go and watchdog.go clean up.
//
// On several, the same supervision works through agents, which are gorun as
// well: hosts.go starts them and assigns the ranks, host.go is the connection to one,
// listen.go handles its frames; agent.go is the other end, with its own node,
// and forward.go in place of output.go. Package link defines the frames between them.
//
//go:generate sh -c "go run . -man >../../docs/gorun.1"
package main
