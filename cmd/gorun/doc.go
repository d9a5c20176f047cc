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
//   - The exit code is the exit code of the first rank that failed, or 128+n if signal n ended that rank. A failure
//     from which the job has recovered (-on-failure) does not count. The exit code is 86 if gorun has ended the job
//     because of a deadlock, and 124 after -timeout. It is 125 for an error of gorun itself (bad flags, a failed
//     build, a process that cannot be created) and for a lost host. It is 126 if a program cannot be executed,
//     and 127 if a program does not exist.
//   - If a rank ends because gorun ends the job, gorun never reports that rank as the cause.
//   - Output is byte-exact. Lines of different ranks mix only if a line is very long or stays incomplete for long
//     (splitter.go). With -l, -prefix or -timestamp, each line starts with a tag. Without these flags, gorun adds
//     to a rank's output only the error that the failing rank reports. Messages of gorun itself are on standard
//     error and begin with "gorun: ".
//   - No rank and no child of a rank outlives the job, in whatever way gorun or a rank ends. containment.go
//     describes how gorun ensures this, and the exception for the containment scan.
//
// On one machine, one process is both launcher and node agent. In this process, options.go parses the command
// line, program.go finds or builds the programs, and node.go and spawn.go start the ranks. supervise.go has
// the loop that supervises the job, output.go and stdin.go forward bytes, and containment.go and watchdog.go
// clean up.
//
// On several machines, the launcher supervises the job through agents, which are gorun processes, too. In the
// launcher, hosts.go starts the agents and assigns the ranks, host.go has the connection to an agent, and
// listen.go handles the frames of the agent. agent.go has the agent's end of the connection. An agent has a
// node of its own, and uses forward.go in place of output.go. Package link defines the frames between
// launcher and agents.
//
//go:generate sh -c "go run . -man >../../docs/gorun.1"
package main
