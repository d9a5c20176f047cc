// Package progress decides which goroutine of a rank polls the transports, and which ones
// sleep, are parked and are woken. It is a state machine without a clock, goroutine, channel
// or system call. Its methods are events and return what the driver, package engine, has to
// do. Therefore its tests can try every order of events.
//
// # The poll token
//
// The goroutine that has the token polls for all goroutines of the rank. A waiting goroutine
// that does not get the token is parked. If polling finds nothing for long, the goroutine
// sleeps in the Sleeper, with the token and with the transports armed. Another goroutine that
// begins to wait takes the token without waking the sleeper. When its wait ends, it arms the
// transports and returns the token to the sleeper. The serving goroutine, which runs actors,
// gets the token when a message for an actor arrives, and keeps it between two waits. The
// background goroutine takes the token when it is free. See State.
//
// # A wait
//
//	Begin    takes the token if it is free or its holder sleeps or serves; poll some times
//	End      if the wait is over by then; else
//	Next     returns the next action, repeatedly: Poll; then Spin, Yield or Arm, as Pace
//	         decides; Sleep after Arm; Park without the token; finally Done
//
// The driver releases its lock during Spin, Yield, Sleep and Park, and during Pause and Rest
// of the background. It carries out everything else with the lock held. No ring is lost,
// because the order before a sleep is: prepare the Sleeper, arm the transports, check the
// words of memory, check whether the wait is over.
//
// # Transitions
//
// Next=Sleep is the event Next that returns Sleep. A comma separates alternatives: states
// before the event, states after it, and what Ready contains (Wake is Ready.Wake, - means
// nothing). "same" means that the state does not change. Any event that is not listed for a
// state does not change it, and its Ready is empty. The exception is Resume, which is not
// listed: it comes with Close, and with Next of the last sleeping goroutine while the
// background rests.
//
//	event                  from                             to                does
//	TryBegin               Free                             Polling, Serving  -
//	Begin                  Asleep                           Polling, Serving  Disarm
//	Begin                  Idle                             Polling           Disarm+Ring
//	Begin                  Serving, Working                 Polling           -
//	TryEnd                 Polling                          Free              -
//	End                    Polling                          Free              Wake, Lend
//	End                    Serving                          Free              -, Lend
//	Lent(true)             Free                             Asleep            -
//	Lent(false)            Free                             same              Ring
//	Next=Poll              Free                             Polling, Serving  -
//	Next=Poll              Asleep                           Polling, Serving  Disarm
//	Next=Poll              Idle                             Polling, Serving  Disarm+Ring
//	Next=Yield             Polling, Serving                 same              Disarm
//	Next=Sleep             Polling, Serving                 Asleep            -
//	Next=Done              Polling                          Free              -, Wake, Lend, Disarm, Disarm+Wake, Disarm+Lend
//	Next=Done              Serving                          Free              -, Lend
//	Next=Done              Asleep                           Free              Disarm, Disarm+Wake, Disarm+Lend
//	Next=Done              Asleep                           Serving           Disarm
//	Next=Done              Free                             same              Wake, Lend
//	NextBackground=Poll    Free, Working                    Draining          -
//	NextBackground=Poll    Idle                             Draining          Disarm
//	NextBackground=Sleep   Draining                         Idle              -
//	NextBackground=Pause   Draining                         Free              -, Wake
//	NextBackground=Pause   Working                          Free              Wake
//	NextBackground=Done    Draining                         Free              -
//	NextBackground=Done    Idle                             Free              Disarm
//	Rouse                  Free, Polling, Serving, Asleep   same              Ring, Wake
//	Rouse                  Draining, Working                same              Wake
//	Urge                   Asleep, Idle                     same              Ring
//	Dislodge               Idle                             Free              Disarm+Ring
//	Call                   Free, Polling, Asleep            same              Ring
//	Call                   Free, Polling, Draining          Serving           Wake
//	Call                   Asleep                           Serving           Disarm+Wake
//	Work                   Serving                          Working           -
//	Worked                 Working                          Serving           -
//	StopServing            Serving                          Free              -
//	Close                  Idle                             same              Ring
package progress
