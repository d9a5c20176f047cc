// Package link is the protocol between gorun and its node agents. It runs over one
// pair of byte streams, the standard input and output of the command that starts the
// agent.
//
//	agent                                   launcher
//	preamble: "gorun-agent 10 v1.2.3\n"  ->                protocol and version
//	                                    <-  Greet         the job's files
//	Hello                               ->                its node, processors and digests of the files
//	                                    <-  Probe         is that process on your node?
//	Probed                              ->
//	                                    <-  Share, File, FileData...   with -copy: files that differ
//	Credit (of files), Filed            ->
//	                                    <-  Plan          ranks, programs, environment, secret
//	Started or Failed                   ->
//	Up, Output, OutputEnd, Exit         ->
//	                                    <-  Down, Input, InputEnd, Signal, Kill
//	Credit (of input)                   <-> Credit (of output, of Up)
//	                                    <-  Exec, ExecInput, ExecKill      an agent below this one
//	ExecOutput, ExecRemark, ExecEnd     ->
//	Renewed                             ->                ranks run again, after a Down that orders it
//	                                    <-  Spare         let one more process wait for a place
//	SpareEnded                          ->                one that waited is gone
//	                                    <-  Look          what have their flight recorders?
//	Seen                                ->
//	                                    <-  End           no rank is left: clean up
//	Done                                ->
//
// The agents of many hosts form a tree: an agent runs the commands that start those below it,
// and passes their streams on, so that the link to each of them is one of gorun's. What goes
// to all ranks (Down) is sent to the agents next to gorun once, and each hands it on; so are
// gorun itself and the files of -copy, to those below that Share names.
//
// Each side sends Beat while it has nothing else to send, and declares the other lost
// after some silence; Pause announces a longer one. A stream of output and the input
// have a window of [WindowBytes] each, so that a slow reader stalls only the stream that
// it reads, and neither side needs to buffer more. What the ranks of an agent say (Up) has a
// window, too, which one frame may exceed, and files have one of [FileWindowBytes].
//
// A frame is 4 bytes length of kind and body, little endian, 1 byte kind, body, and an
// end of line, without which a scheduler that passes on whole lines would keep it. Bodies
// are JSON where they are rare, and a [Target] with bytes where they are many. A malformed
// frame is an error, never a panic or a large allocation.
package link
