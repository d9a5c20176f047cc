package actors

// notice checks whether the actor has stopped. If the actor has stopped, notice sets dead, and
// messages that still wait for the actor become dead letters. It returns true only in the call that sets
// dead.
func (m *mailbox) notice() (ended bool) {
	if m.pid == nil || m.dead.Load() {
		return false
	}
	if p, ok := m.s.ProcessRegistry.GetLocal(m.pid.Id); ok && p == m.process {
		return false
	}
	m.dead.Store(true)
	if d := m.ref.Load(); d != nil {
		d.box.Store(nil)
	}
	m.s.unwatchAll(m.pid)
	m.suspended.Store(false)
	m.s.boxes.CompareAndDelete(m.pid.Id, m)
	if m.fullAt.Load() != 0 {
		m.refill()
	}
	return true
}

// supersede replaces the mailbox of an earlier actor if a Process without a mailbox of this package now has the actor's
// name. The Process is a router, or an actor with a mailbox of another package.
func (s *System) supersede(name string) {
	box, ok := s.boxes.Load(name)
	if !ok {
		return
	}
	m := box.(*mailbox)
	if now, ok := s.ProcessRegistry.GetLocal(name); ok && now != m.process && s.boxes.CompareAndDelete(name, m) {
		m.replace()
	}
}

// replace is called when a later actor or router has the name. protoactor frees the name before the actor handles
// Stopped. From now on, messages and system messages of other ranks go to the later actor or router.
func (m *mailbox) replace() {
	m.replaced.Store(true)
	if d := m.ref.Load(); d != nil {
		d.box.Store(nil)
	}
}

// lives reports whether messages for the name of the actor belong to this mailbox.
func (m *mailbox) lives() bool { return !m.dead.Load() && !m.replaced.Load() }
