package main

import "github.com/gorun-hpc/gorun/cmd/gorun/internal/link"

// addSpare starts one more spare of a program. Without it the job goes on with fewer.
func (a *agent) addSpare(program int) {
	if err := a.spawner.addSpare(a.programs[program], a.paths[program]); err != nil {
		a.missed(program, err.Error())
	}
}

// missed reports a spare that is gone.
func (a *agent) missed(program int, what string) {
	a.conn.Send(link.KindSpareEnded, link.Encode(link.SpareEnded{Program: program, Text: link.Text(what)}))
}
