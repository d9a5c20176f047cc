package main

// curve is a picture of a quantity over the size of a message.
type curve struct {
	name         string // name of the file of the picture
	title        string
	unit         string
	measurements []string // keys of measurements; each covers some of the sizes
}

// Numbers of iterations of the curves, chosen by the duration of a message or of a window of 64. At least
// half of the iterations are warm-up, so that the start of a process does not affect the first sizes.
var (
	curveShort       = []string{"-m", "1:8K", "-i", "20000", "-x", "20000"}
	curveLong        = []string{"-m", "16K:4M", "-i", "1000", "-x", "1000"}
	curveShortWindow = []string{"-m", "1:8K", "-i", "1000", "-x", "1000"}
	curveLongWindow  = []string{"-m", "16K:4M", "-i", "30", "-x", "50"}
)

// curvePlan compares latency and bandwidth of gorun, Open MPI and MPICH over the size of a message,
// from 1 B to 4 MiB.
func curvePlan() plan {
	sweep := func(key, program string, args []string) measurement {
		return measurement{key: key, program: program, ranks: 2, bound: true, args: args}
	}
	return plan{
		name: "curves",
		measurements: bounded([]measurement{
			sweep("latency of short messages", "latency", curveShort),
			sweep("latency of long messages", "latency", curveLong),
			sweep("bandwidth of short messages", "bandwidth", curveShortWindow),
			sweep("bandwidth of long messages", "bandwidth", curveLongWindow),
		}),
		curves: []curve{
			{
				name: "latency", title: "Latency of a message, one way, between two ranks of one machine", unit: "us",
				measurements: []string{"latency of short messages", "latency of long messages"},
			},
			{
				name: "bandwidth", title: "Bandwidth between two ranks of one machine, windows of 64 messages", unit: "MB/s",
				measurements: []string{"bandwidth of short messages", "bandwidth of long messages"},
			},
		},
		peers: systems,
	}
}
