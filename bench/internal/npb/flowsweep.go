package npb

import "github.com/gorun-hpc/gorun/runtime"

// The sweeps solve (D+wL) D^-1 (D+wU) x = dt*r. A block of L or U is the Jacobian of the fluxes of a
// neighbouring cell. The products with these blocks are computed from the states of the cells, without the
// matrices. The blocks of D are lower triangular.

// axis holds the coefficients of convection, viscosity and diffusion of one axis in a sweep, scaled by w*dt.
// The diffusion is the same for all quantities.
type axis struct{ convection, viscosity, diffusion float64 }

func (f *flow) axis(sign, diffusion float64) axis {
	w := relaxation * f.dt
	return axis{w * sign * f.t2, w * f.t1, w * f.t1 * diffusion}
}

// diagonal holds the coefficients of the blocks of D. The field all is the coefficient on the diagonal, for
// every quantity. The field momentum is a further coefficient in the rows of the momentum, the same for the three
// axes. The fields energy and temperature are further coefficients in the row of the energy.
type diagonal struct {
	all                           float64
	inverse                       float64 // 1/all
	momentum, energy, temperature float64
}

func (f *flow) newDiagonal() diagonal {
	w := 2 * f.dt * f.t1
	all := 1 + w*(2*diffusionXY+diffusionZ)
	momentum := w * viscous * (2 + third)
	energy := momentum - 3*w*conducting
	return diagonal{all, 1 / all, momentum, energy, 3 * w * conducting}
}

// solve replaces b by the solution x of D*x = b for the block of a cell with state s.
func (d *diagonal) solve(b *cell, s *state) {
	mass := b[0] * d.inverse
	scale := 1 / (d.all + d.momentum*s.inverse)
	carried := d.momentum * s.inverse * mass
	mx, my, mz := (b[1]+carried*s.vx)*scale, (b[2]+carried*s.vy)*scale, (b[3]+carried*s.vz)*scale
	work := s.vx*(mx-s.vx*mass) + s.vy*(my-s.vy*mass) + s.vz*(mz-s.vz*mass)
	e := b[4] - s.inverse*(d.energy*work-d.temperature*s.energy*mass)
	b[0], b[1], b[2], b[3], b[4] = mass, mx, my, mz, e/(d.all+d.temperature*s.inverse)
}

// common returns the terms that the products of x with the Jacobians of the three axes have in common. yx, yy
// and yz are the changes of the velocity components that the correction x causes. dq is the change of q =
// density*v^2/2. heat is the energy that viscosity and conduction transport, without the extra term of each axis.
func common(x *cell, s *state) (yx, yy, yz, dq, heat float64) {
	yx, yy, yz = (x[1]-s.vx*x[0])*s.inverse, (x[2]-s.vy*x[0])*s.inverse, (x[3]-s.vz*x[0])*s.inverse
	dq = s.vx*x[1] + s.vy*x[2] + s.vz*x[3] - s.half*x[0]
	heat = (viscous-conducting)*(s.vx*yx+s.vy*yy+s.vz*yz) + conducting*(x[4]-s.energy*x[0])*s.inverse
	return yx, yy, yz, dq, heat
}

// addX adds a product to b: the block of a neighbour on the x axis times the correction x of that neighbour.
// The state of the neighbour is s.
func (a axis) addX(b, x *cell, s *state) {
	yx, yy, yz, dq, heat := common(x, s)
	t, v, d := a.convection, a.viscosity, a.diffusion
	rest := x[1] - s.vx*x[0]
	b[0] += t*x[1] + d*x[0]
	b[1] += t*(s.vx*rest+s.vx*x[1]+pressure*(x[4]-dq)) + v*viscous*third*yx + d*x[1]
	b[2] += t*(s.vy*rest+s.vx*x[2]) + v*viscous*yy + d*x[2]
	b[3] += t*(s.vz*rest+s.vx*x[3]) + v*viscous*yz + d*x[3]
	b[4] += t*((gamma*x[4]-pressure*dq)*s.vx+s.enthalpy*rest) + v*(heat+viscous*(third-1)*s.vx*yx) + d*x[4]
}

// addY does the same as addX for a neighbour on the y axis.
func (a axis) addY(b, x *cell, s *state) {
	yx, yy, yz, dq, heat := common(x, s)
	t, v, d := a.convection, a.viscosity, a.diffusion
	rest := x[2] - s.vy*x[0]
	b[0] += t*x[2] + d*x[0]
	b[1] += t*(s.vx*rest+s.vy*x[1]) + v*viscous*yx + d*x[1]
	b[2] += t*(s.vy*rest+s.vy*x[2]+pressure*(x[4]-dq)) + v*viscous*third*yy + d*x[2]
	b[3] += t*(s.vz*rest+s.vy*x[3]) + v*viscous*yz + d*x[3]
	b[4] += t*((gamma*x[4]-pressure*dq)*s.vy+s.enthalpy*rest) + v*(heat+viscous*(third-1)*s.vy*yy) + d*x[4]
}

// addZ does the same as addX for a neighbour on the z axis.
func (a axis) addZ(b, x *cell, s *state) {
	yx, yy, yz, dq, heat := common(x, s)
	t, v, d := a.convection, a.viscosity, a.diffusion
	rest := x[3] - s.vz*x[0]
	b[0] += t*x[3] + d*x[0]
	b[1] += t*(s.vx*rest+s.vz*x[1]) + v*viscous*yx + d*x[1]
	b[2] += t*(s.vy*rest+s.vz*x[2]) + v*viscous*yy + d*x[2]
	b[3] += t*(s.vz*rest+s.vz*x[3]+pressure*(x[4]-dq)) + v*viscous*third*yz + d*x[3]
	b[4] += t*((gamma*x[4]-pressure*dq)*s.vz+s.enthalpy*rest) + v*(heat+viscous*(third-1)*s.vz*yz) + d*x[4]
}

// step does one time step, which is a forward and a backward sweep, and then computes the residual. In a
// sweep, the ranks form a pipeline along the rows. For each plane, a rank receives a row of corrections from
// one neighbour, computes its own rows, and sends its last row to the other neighbour.
func (f *flow) step() error {
	from, to := f.inner()
	for k := 1; k < f.n-1; k++ {
		if err := f.receive(k, from-1, f.previous, luForth); err != nil {
			return err
		}
		for j := from; j < to; j++ {
			f.lower(k, j)
		}
		if err := f.send(k, to-1, f.next, luForth); err != nil {
			return err
		}
	}
	for k := f.n - 2; k > 0; k-- {
		if err := f.receive(k, to, f.next, luBack); err != nil {
			return err
		}
		for j := to - 1; j >= from; j-- {
			f.upper(k, j)
		}
		if err := f.send(k, from, f.previous, luBack); err != nil {
			return err
		}
	}
	return f.evaluate()
}

// receive receives row j of plane k of the corrections from a neighbour. The method send sends such a row to
// a neighbour. Both do nothing if there is no neighbour (rank < 0).
func (f *flow) receive(k, j, rank, tag int) error {
	if rank < 0 {
		return nil
	}
	_, err := runtime.Recv(f.comm, f.r[f.at(k, j):][:f.n], rank, tag)
	return err
}

func (f *flow) send(k, j, rank, tag int) error {
	if rank < 0 {
		return nil
	}
	return runtime.Send(f.comm, f.r[f.at(k, j):][:f.n], rank, tag)
}

// lower solves the lower triangular system in row j of plane k.
func (f *flow) lower(k, j int) {
	n, at, y, z := f.n, f.at(k, j), f.at(k, j-1), f.at(k-1, j)
	r, s := f.r[at:at+n], f.states[at:at+n]
	ry, sy, rz, sz := f.r[y:y+n], f.states[y:y+n], f.r[z:z+n], f.states[z:z+n]
	ax, az := f.axis(1, diffusionXY), f.axis(1, diffusionZ)
	for i := 1; i < n-1; i++ {
		var b cell
		az.addZ(&b, &rz[i], &sz[i])
		ax.addY(&b, &ry[i], &sy[i])
		ax.addX(&b, &r[i-1], &s[i-1])
		x := &r[i]
		for m := range b {
			b[m] += f.dt * x[m]
		}
		f.diagonal.solve(&b, &s[i])
		*x = b
	}
}

// upper solves the upper triangular system in row j of plane k and adds the correction to the solution.
func (f *flow) upper(k, j int) {
	n, at, y, z := f.n, f.at(k, j), f.at(k, j+1), f.at(k+1, j)
	r, s, u := f.r[at:at+n], f.states[at:at+n], f.u[at:at+n]
	ry, sy, rz, sz := f.r[y:y+n], f.states[y:y+n], f.r[z:z+n], f.states[z:z+n]
	ax, az := f.axis(-1, diffusionXY), f.axis(-1, diffusionZ)
	const scale = 1 / (relaxation * (2 - relaxation))
	for i := n - 2; i > 0; i-- {
		var b cell
		az.addZ(&b, &rz[i], &sz[i])
		ax.addY(&b, &ry[i], &sy[i])
		ax.addX(&b, &r[i+1], &s[i+1])
		f.diagonal.solve(&b, &s[i])
		x, c := &r[i], &u[i]
		for m := range b {
			x[m] += b[m]
			c[m] += scale * x[m]
		}
	}
}
