// Command gorun starts the ranks of a job on this machine or on several, forwards
// their input, output and signals, and ends them together.
//
//	gorun -np 4 ./examples/heat          # builds the package, starts four ranks
//	gorun -np 4 -l hostname              # any program, lines tagged with the rank
//	gorun -np 1 ./server : -np 8 ./client
//	gorun -host h1:2,h2:2 ./prog         # four ranks on two hosts, through ssh
//
// gorun -h prints every flag. gorun follows these rules:
//
//   - The exit code is that of the first rank that failed, 128+n for signal n;
//     86 after a deadlock, 124 after -timeout, 125 for an error of gorun itself (bad flags, a
//     failed build, no processes), 126 for a program that cannot be executed,
//     127 for a program that does not exist.
//   - gorun never reports a rank that ends because the job is being ended as the cause.
//   - Output is byte-exact. Lines of different ranks do not mix. With -l,
//     -prefix or -timestamp, each line starts with a tag; without these flags
//     nothing is added.
//   - No rank and no child of a rank outlives the job, however gorun or a rank
//     ends. containment.go describes how.
//
// On one machine, one process is launcher and node agent. Its parts: options.go
// parses the command line, program.go finds or builds the programs, node.go and
// spawn.go start the ranks, supervise.go is the loop that supervises the job, output.go and
// stdin.go forward bytes, containment.go and watchdog.go clean up.
//
// On several machines, the launcher supervises the job through agents, which are gorun
// processes, too. hosts.go starts the agents and assigns the ranks, host.go is the connection
// to an agent, and listen.go handles its frames. agent.go is the other end of the connection;
// it has a node of its own, and uses forward.go in place of output.go. Package link defines
// the frames between launcher and agents.
//
//go:generate sh -c "go run . -man >../../docs/gorun.1"
package main
