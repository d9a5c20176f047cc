// Package progress decides which goroutine of a rank polls the transports, and which goroutines
// sleep, are parked and are woken. It is a state machine. It uses no clock, goroutine, channel or
// system call, so that its tests can try every order of events. Most methods of Token are events,
// and return what the driver, package engine, has to do.
//
// # The poll token
//
// The goroutine that has the token polls for all goroutines of the rank. A waiting goroutine that
// does not get the token is parked. If polling finds nothing for long, the goroutine with the token
// sleeps in the Sleeper. It keeps the token, and the transports are armed. Another goroutine that
// begins to wait takes the token. The goroutine that has lost the token continues to sleep, unless it is
// the background goroutine, which is woken. When the wait of the new holder ends, the new holder arms the
// transports and returns the token to a goroutine that still sleeps, but not to the background goroutine.
// The serving goroutine, which runs actors, gets the token when a message for an actor arrives, and keeps
// the token between two waits. The background goroutine takes the token when the token is free. See State.
//
// # A wait
//
//	Begin    takes the token if it is free or its holder sleeps or serves. With the token, the
//	         driver polls a few times.
//	End      ends the wait if it is over by then. Otherwise:
//	Next     returns the next action, again and again: Poll; then Spin, Yield or Arm, as Pace
//	         decides; Sleep after Arm; Park without the token; finally Done
//
// The driver releases its lock during Spin, Yield, Sleep and Park, and during Pause and Rest of the
// background goroutine. It carries out everything else with the lock held, but a Poll of the background
// goroutine consists of several polls, and the driver may release the lock between them. Before a sleep, the
// order is: prepare the Sleeper, arm the transports, check the words of memory, check whether the
// wait is over. Therefore no ring is lost.
//
// # Transitions
//
// Next=Sleep stands for the event Next that returns Sleep. The columns are the event, the state
// before the event, the state after the event, and the contents of the Ready that the event returns.
// Wake stands for Ready.Wake, and - stands for an empty Ready. A comma separates alternatives. "same"
// means that the state does not change. An event that is not listed for a state does not change the
// state, and its Ready is empty. The table omits Resume. Close returns Resume. Next returns Resume
// for the last goroutine that ends its sleep while the background goroutine rests.
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
