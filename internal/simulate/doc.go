// Package simulate runs a whole job in one process, in virtual time, under a seed: N
// ranks, each with its World, engine, collectives and actors as they are, over a network
// that is simulated.
//
//	result := simulate.Run(t, program, seed, 0)
//
// A seed decides the number of ranks and the Conditions: delays and the order of messages
// of different pairs, when a connection stands, connections that are lost and made again,
// lanes without room, operations refused with ErrAgain, ranks that wake up late or early,
// memory for unexpected messages, what the transport can do, and the events at which ranks
// die. The order within a pair stays, as the contract of package transport says.
//
// # Determinism
//
// The job runs in a bubble of testing/synctest: its clock advances when every goroutine
// is blocked. One goroutine of the network carries out the events, one at a time, and lets
// all others run until they block before the next. No two events have the same time and
// pair. So ranks influence each other in the order of the events alone, and a rank with one
// goroutine repeats exactly. The goroutines of one rank take turns as Go's scheduler has
// it: the tests set GOMAXPROCS to 1 and collect no garbage during a run. Go orders by chance
// the timers of a bubble that expire at the same time (timerWhen.less in runtime/time.go), so
// the sleeps of a rank get lengths of their own, and the record sorts what happens at one time.
// What is left is that a goroutine that runs for 10 ms of real time is preempted, and that
// every 61st turn of the scheduler takes the goroutine that gave way. Of 30 seeds, each four
// times in a process of its own, 30 (exchange) and 30 (survive) had the same events every time.
// TestSeedRepeatsTheRun counts them. With the race detector, which shuffles goroutines, a seed
// repeats the network's decisions alone.
//
// # Hangs
//
// When all goroutines are blocked and no event comes for a minute of virtual time, or a
// job takes longer than half an hour of it, the job hangs: it is ended, and the error has
// what each rank waits for, the last events, and the command that repeats the run.
//
// # Programs
//
// Package program has the programs, each with its oracle:
//
//	go test ./internal/simulate                      some seeds of each, and the regression seeds
//	go test ./internal/simulate -run TestPrograms/exchange -seed 7 -ranks 5
//	go test ./internal/simulate -run TestPrograms -fresh 60s
//
// The programs are exchanges of messages with and without the death of a rank, collective
// operations with and without one, collective operations of which one rank calls another
// one, communicators that are made and closed with messages left in them, actors with and without the death of a rank, and
// agreements of survivors, who shrink their communicator and go on. The examples heat, pi and ring are run
// by TestSimulated of their own packages. TestFlawsOfTheNetworkAreFound shows that a network
// that loses, doubles, swaps or does not announce messages is found within a few seeds. The
// tables of breaks can be tried on the programs:
//
//	go run ./internal/mutation -by internal/simulate -only 'credit that came back' runtime/internal/engine
//
// Of ten breaks of the engine, -short finds all:
//
//	break                                               found by
//	a synchronous send is not told of its match         exchange
//	a withdrawn envelope is still matched               exchange
//	a cancelled receive stays posted                    exchange
//	the end of a Get is not told to the sender          exchange
//	what is posted for a lost peer waits for ever       survive
//	probes are not told of a loss                       survive, a regression seed
//	the credit of a cancelled queued send is lost       exchange, TestSeedRepeatsTheRun
//	credit that came back is not told to its peer       exchange, TestSeedRepeatsTheRun
//	the youngest of the receives that match is taken    exchange
//	an empty rendezvous is not acknowledged             collectives
//
// Of ten breaks of what starts ranks again, program resume finds all, most within a second; the first two by seeds that
// found them once:
//
//	an engine that was aborted tells of dropped messages      regression seed
//	operations of a World that is over go on                  regression seed
//	a rank that was not in the first World is called initial  fresh seeds, 3 s
//	a survivor that has returned nil does not come back
//	a loss while a generation forms is the end
//	a checkpoint counts before all ranks have it              a death at every event
//	the newest copy is replaced in place of the oldest        a death at every event
//	the keepers of a new process get no copies
//	copies beyond the step that was restored stay
//	PIDs have no generation
//
// # Limits
//
// The ranks are nodes of their own, so nothing runs over shared memory. The network stands
// in for transport/rdma, whose own recovery is not part of the job. Giving way takes no
// virtual time. A program that waits in protoactor does not notice that it was killed, so it has to wait
// for Rank.Ended, too.
//
// A seed that found a defect, or a break that others do not find, is listed in testdata/seeds.txt with what it found.
package simulate
