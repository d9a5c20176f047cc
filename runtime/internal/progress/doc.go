// Package progress decides which goroutine of a rank polls the transports, which sleeps,
// which is parked, and who is woken. It is a state machine without a clock, goroutine,
// channel or system call: its methods are events, and return what the driver, which is
// package engine, has to do. So its tests try every order of events.
//
// # The poll token
//
// Whoever has the token polls for all. A goroutine that waits and does not get it is
// parked. One that has polled in vain for long sleeps in the Sleeper with the token and
// with the transports armed; another one takes the token from a sleeper without waking
// it, and lends it back, armed, at its end. The serving goroutine, which works at what
// comes for actors, keeps the token between two waits, and gets it when something comes
// for it. The background takes it when nobody else has it. See State.
//
// # A wait
//
//	Begin    the token is free, or its holder sleeps or serves: poll some times, at once
//	End      if that was enough; else
//	Next     says what to do, again and again: Poll, then Spin, Yield or Arm, as Pace
//	         says; Sleep after Arm; Park without the token; at last Done
//
// The lock of the driver is given up during Spin, Yield, Sleep and Park, and during Pause
// and Rest of the background. Everything else that an Action, an event and its Ready ask
// for is done while it is held. No ring is lost, because the Sleeper is prepared before
// the transports are armed, these before the words are looked at, and all that before it
// is known that the wait is not over.
//
// # Transitions
//
// Next=Sleep is the event Next that returns Sleep. A comma separates alternatives: the
// states it may come from, the states it may lead to, what it may ask for (Wake is
// Ready.Wake, - nothing). "same" is the state before. Any other event in any other state
// changes neither the state nor asks for anything, but for Resume: Close asks for it, and
// Next of the last that sleeps, when the background rests.
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
