package main

import "github.com/gorun-hpc/gorun/cmd/gorun/internal/link"

// addSpare starts another spare of a program. If that fails, addSpare tells the launcher, and the job
// continues with fewer spares.
func (a *agent) addSpare(program int) {
	if err := a.spawner.addSpare(a.programs[program], a.paths[program]); err != nil {
		a.missed(program, err.Error())
	}
}

// missed tells the launcher that a spare has ended or could not be started.
func (a *agent) missed(program int, what string) {
	a.conn.Send(link.KindSpareEnded, link.Encode(link.SpareEnded{Program: program, Text: link.Text(what)}))
}
