// Package simulate runs a whole job in one process, in virtual time. A seed determines the run. The job has N
// ranks. Each rank runs the unchanged code of World, engine, collectives and actors. Only the network is
// simulated.
//
//	result := simulate.Run(t, program, seed, 0)
//
// The seed determines the number of ranks and the Conditions. The Conditions of the messages are their delays,
// their order if they belong to different pairs of ranks, full lanes, and operations that are refused with
// ErrAgain. The Conditions of the connections are the times at which they are established, lost and established
// again. Further Conditions are ranks that wake up late or early, the memory for unexpected messages, the
// capabilities of the transport, and the events at which ranks die. The messages from one rank to another stay
// in order, as the contract of package transport demands.
//
// # Determinism
//
// The job runs in a bubble of testing/synctest, whose clock advances when every goroutine is blocked. One
// goroutine of the network executes the events, one at a time. Before the next event, this goroutine lets all
// other goroutines run until they block. The order of the events is total, even if events have the same time
// (type event). For these reasons, ranks influence each other only through this order, and the run of a
// rank with one goroutine repeats exactly. Go's scheduler determines the order in which the goroutines of one
// rank run. To make this order repeatable, RunSeeds and the tests set GOMAXPROCS to 1, and Run disables garbage
// collection. Go fires timers of a bubble that expire at the same time in random order (timerWhen.less in
// runtime/time.go). For this reason, no two sleeps of a rank end at the same time, and the record sorts the
// events that have the same time.
//
// Two causes of differences between runs of one seed remain. A goroutine that runs for 10 ms of real time is
// preempted. In every 61st decision, Go's scheduler gives priority to a goroutine that has yielded.
// In a measurement, 30 seeds were run four times, each run in a process of its own. With the
// programs exchange and survive, all 30 seeds had the same events in every run. TestSeedRepeatsTheRun counts
// the seeds that repeat a run. Under the race detector, which shuffles goroutines, a seed repeats only the
// decisions of the network.
//
// # Hangs
//
// A job hangs if all goroutines are blocked and no event comes for a minute of virtual time. A job also counts
// as hanging if it takes longer than half an hour of virtual time. Run then ends the job. The error states what
// each rank waits for, the last events, and the command that repeats the run.
//
// # Programs
//
// Package program has the programs, each with an oracle for its result. These commands run them:
//
//	go test ./internal/simulate                      some seeds of each, and the regression seeds
//	go test ./internal/simulate -run TestPrograms/exchange -seed 7 -ranks 5
//	go test ./internal/simulate -run TestPrograms -fresh 60s
//
// The programs are:
//
//   - exchanges of messages, collective operations and actors, each with and without the death of a rank;
//   - collective operations in which one rank calls another operation than its peers;
//   - communicators that are made, and that are closed while they have messages that were not received;
//   - agreements of survivors, which shrink their communicator and go on;
//   - work in two communicators without a common member, one of which may lose a rank;
//   - ranks that are started again, and resume from a checkpoint.
//
// TestSimulated of the examples heat, pi and ring runs these examples in the simulator.
// TestFlawsOfTheNetworkAreFound checks that the programs detect, within a few seeds, a network that loses,
// doubles or swaps messages, or does not announce them. The breaks of package internal/mutation, which are
// plausible mistakes in gorun's code, can be tried on the programs:
//
//	go run ./internal/mutation -by internal/simulate -only 'returned credit' runtime/internal/engine
//
// With -short, the tests find all ten breaks of the engine in this table:
//
//	break                                                       found by
//	the match of a synchronous send is not acknowledged         exchange
//	a withdrawn envelope can still be matched                   exchange
//	a cancelled receive stays posted                            exchange
//	the receiver sends no FIN after its last Get                exchange
//	the loss of a peer does not end the receives posted for it  survive
//	the loss of a peer does not end probes                      survive, a regression seed
//	the credit of a cancelled queued send is lost               exchange, TestSeedRepeatsTheRun
//	returned credit is not announced to the peer                exchange, TestSeedRepeatsTheRun
//	the matching receive that was posted last gets the message  exchange
//	an empty rendezvous is not acknowledged                     collectives
//
// # Limits
//
// Each rank is a node of its own, so the code for shared memory is not tested. The network replaces
// transport/rdma, so the recovery of connections in transport/rdma is not tested. A yield (Sleeper.Yield)
// takes no virtual time. A program that waits in protoactor does not notice that its rank was killed. For
// this reason, the program must also wait for Rank.Ended.
//
// testdata/seeds.txt lists the seeds that have found a defect, or a break that other seeds do not find. Each
// seed is listed with the defect or the break.
package simulate
