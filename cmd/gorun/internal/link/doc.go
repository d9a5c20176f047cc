// Package link implements the protocol between the launcher and its node agents. It runs over a
// pair of byte streams: the standard input and output of the command that starts the agent or, for
// the agent of a pod, a TCP connection.
//
//	agent                                   launcher
//	preamble: "gorun-agent 11 v1.2.3\n"  ->                protocol and version
//	                                    <-  Greet         the paths of the job's files
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
//	                                    <-  Exec, ExecInput, ExecKill      for a child agent
//	ExecOutput, ExecRemark, ExecEnd     ->
//	Renewed                             ->                ranks run again, after a Down that orders it
//	                                    <-  Spare         start one more spare process
//	SpareEnded                          ->                a spare process has ended
//	                                    <-  Look          what is in the flight recorders of your ranks?
//	Seen                                ->
//	                                    <-  End           no rank is left: clean up
//	Done                                ->
//
// The agents of many hosts form a tree. A parent agent runs the commands that start its child agents, and
// forwards the standard input and output of these commands. So the launcher has a link to every agent. Frames
// for all ranks (Down) are sent once to each agent that the launcher has started itself, and every agent
// forwards them to its children. With -copy, the launcher distributes gorun itself and the files through the
// agents in the same way. An agent forwards a file only to the children that Share names.
//
// Each side sends a Beat at regular intervals, and declares the other side lost after a time without frames.
// Pause announces a longer silence. Each stream of output, and the input, has a window of [WindowBytes]. So a
// slow reader stalls only the stream that it reads, and neither side needs to buffer more than the window.
// There is one exception: if every rank gets standard input, an agent returns the credit when it receives the
// input, and buffers up to 4 MiB that its slowest rank has not read yet. So a rank delays the input of the
// others only if more than 4 MiB of the input wait for it. The frames of an agent's ranks (Up) also have a
// window of [WindowBytes]. A single frame may exceed that window. Files have a window of [FileWindowBytes].
//
// A frame consists of the length of kind and body (4 bytes, little endian), the kind (1 byte), the
// body, and an end of line. Without the end of line, a scheduler that forwards only whole lines
// would delay the frame. The body of a rare frame is JSON. Any other body is empty or consists of bytes, in some
// kinds after a [Target] or numbers. A malformed frame causes an error, never a panic or a large allocation.
package link
