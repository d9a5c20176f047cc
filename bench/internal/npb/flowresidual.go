package npb

// fivePoints holds the coefficients of a five-point stencil on one axis, from the cell two places before the
// center to the cell two places after the center. The stencil combines diffusion by second differences and
// dissipation by fourth differences.
type fivePoints [5]float64

// coefficients returns the coefficients at place i of an axis with diffusion d. They are the coefficients of the
// second difference times d*t1, minus the coefficients of the fourth difference times the constant fourth. Near the
// border, the fourth difference has fewer points.
func (f *flow) coefficients(i int, d float64) fivePoints {
	c := fivePoints{1, -4, 6, -4, 1}
	switch i {
	case 1:
		c = fivePoints{0, 0, 5, -4, 1}
	case 2:
		c[0] = 0
	case f.n - 3:
		c[4] = 0
	case f.n - 2:
		c = fivePoints{1, -4, 5, 0, 0}
	}
	second := fivePoints{0, 1, -2, 1, 0}
	for m := range c {
		c[m] = d*f.t1*second[m] - fourth*c[m]
	}
	return c
}

// Diffusion coefficients of the axes.
const (
	diffusionXY = 0.75
	diffusionZ  = 1
)

// residual stores the sum of the spatial terms of the equations, without the forcing term, in r. It does so at all
// cells of this rank that are not on the border.
func (f *flow) residual() {
	from, to := f.inner()
	for k := 1; k < f.n-1; k++ {
		for j := from; j < to; j++ {
			f.linear(k, j)
			f.fluxes(k, j)
		}
	}
}

// linear sets r, in row j of plane k, to the sum of the second and fourth differences on the three axes.
func (f *flow) linear(k, j int) {
	n, at := f.n, f.at(k, j)
	row := func(k, j int) []cell {
		k = min(max(k, 0), n-1) // planes outside the cube have the coefficient 0, so that any plane can stand for them
		return f.u[f.at(k, j):][:n]
	}
	cz, cy := f.coefficients(k, diffusionZ), f.coefficients(j, diffusionXY)
	r, c := f.r[at:at+n], row(k, j)
	y0, y1, y3, y4 := row(k, j-2)[:len(r)], row(k, j-1)[:len(r)], row(k, j+1)[:len(r)], row(k, j+2)[:len(r)]
	z0, z1, z3, z4 := row(k-2, j)[:len(r)], row(k-1, j)[:len(r)], row(k+1, j)[:len(r)], row(k+2, j)[:len(r)]
	middle := cy[2] + cz[2]
	for i := 1; i < n-1; i++ {
		out, mid, a0, a1, a3, a4, b0, b1, b3, b4 := &r[i], &c[i], &y0[i], &y1[i], &y3[i], &y4[i], &z0[i], &z1[i], &z3[i], &z4[i]
		for m := range out {
			out[m] = middle*mid[m] + cy[0]*a0[m] + cy[1]*a1[m] + cy[3]*a3[m] + cy[4]*a4[m] +
				cz[0]*b0[m] + cz[1]*b1[m] + cz[3]*b3[m] + cz[4]*b4[m]
		}
	}
	cx := f.coefficients(n/2, diffusionXY)
	for i := 1; i < n-1; i++ {
		factors := &cx
		if i < 3 || i > n-4 {
			border := f.coefficients(i, diffusionXY)
			factors = &border
		}
		out, x0, x1, x2, x3, x4 := &r[i], &c[max(i-2, 0)], &c[i-1], &c[i], &c[i+1], &c[min(i+2, n-1)]
		for m := range out {
			out[m] += factors[0]*x0[m] + factors[1]*x1[m] + factors[2]*x2[m] + factors[3]*x3[m] + factors[4]*x4[m]
		}
	}
}

// fluxes adds the terms of convection and viscosity to r in row j of plane k.
func (f *flow) fluxes(k, j int) {
	n := f.n
	at, yl, yr, zl, zr := f.at(k, j), f.at(k, j-1), f.at(k, j+1), f.at(k-1, j), f.at(k+1, j)
	r, c, s := f.r[at:at+n], f.u[at:at+n], f.states[at:at+n]
	cyl, cyr, czl, czr := f.u[yl:yl+n], f.u[yr:yr+n], f.u[zl:zl+n], f.u[zr:zr+n]
	syl, syr, szl, szr := f.states[yl:yl+n], f.states[yr:yr+n], f.states[zl:zl+n], f.states[zr:zr+n]
	t, v := f.t2, viscous*f.t3*f.t3
	for i := 1; i < n-1; i++ {
		out, here := &r[i], &s[i]
		a, b, p, q := &c[i+1], &c[i-1], &s[i+1], &s[i-1]
		dx, dy, dz := p.vx-2*here.vx+q.vx, p.vy-2*here.vy+q.vy, p.vz-2*here.vz+q.vz
		heat := heating(p, q, here) + (p.vx*p.vx-2*here.vx*here.vx+q.vx*q.vx)/6
		r0 := -t * (a[1] - b[1])
		r1 := -t*(a[1]*p.vx+p.pressure-b[1]*q.vx-q.pressure) + v*third*dx
		r2 := -t*(a[2]*p.vx-b[2]*q.vx) + v*dy
		r3 := -t*(a[3]*p.vx-b[3]*q.vx) + v*dz
		r4 := -t*(a[1]*p.enthalpy-b[1]*q.enthalpy) + v*heat

		a, b, p, q = &cyr[i], &cyl[i], &syr[i], &syl[i]
		dx, dy, dz = p.vx-2*here.vx+q.vx, p.vy-2*here.vy+q.vy, p.vz-2*here.vz+q.vz
		heat = heating(p, q, here) + (p.vy*p.vy-2*here.vy*here.vy+q.vy*q.vy)/6
		r0 -= t * (a[2] - b[2])
		r1 += v*dx - t*(a[1]*p.vy-b[1]*q.vy)
		r2 += v*third*dy - t*(a[2]*p.vy+p.pressure-b[2]*q.vy-q.pressure)
		r3 += v*dz - t*(a[3]*p.vy-b[3]*q.vy)
		r4 += v*heat - t*(a[2]*p.enthalpy-b[2]*q.enthalpy)

		a, b, p, q = &czr[i], &czl[i], &szr[i], &szl[i]
		dx, dy, dz = p.vx-2*here.vx+q.vx, p.vy-2*here.vy+q.vy, p.vz-2*here.vz+q.vz
		heat = heating(p, q, here) + (p.vz*p.vz-2*here.vz*here.vz+q.vz*q.vz)/6
		out[0] += r0 - t*(a[3]-b[3])
		out[1] += r1 + v*dx - t*(a[1]*p.vz-b[1]*q.vz)
		out[2] += r2 + v*dy - t*(a[2]*p.vz-b[2]*q.vz)
		out[3] += r3 + v*third*dz - t*(a[3]*p.vz+p.pressure-b[3]*q.vz-q.pressure)
		out[4] += r4 + v*heat - t*(a[3]*p.enthalpy-b[3]*q.enthalpy)
	}
}

// heating returns the part of the viscous and heat-conduction terms of the energy equation that has the same form on
// each axis.
func heating(p, q, here *state) float64 {
	return (1-gamma*gamma)*(p.half-2*here.half+q.half) + gamma*gamma*(p.energy-2*here.energy+q.energy)
}
