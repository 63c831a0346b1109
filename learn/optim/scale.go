package optim

// Scaled returns z -> f(scale∘z), the product taken entry by entry: a diagonal preconditioner. A
// quasi-Newton method that starts from a multiple of the identity converges in fewer steps when the
// curvature along all coordinates of z is alike. Choose scale_j near the root of the inverse of the
// curvature along x_j. A solution z stands for x = scale∘z; an l1 penalty on x is one on z with
// weights scale.
//
// The products are shared by workers goroutines.
func Scaled(f Objective, scale []float64, workers int) Objective {
	return &scaled{f, scale, make([]float64, f.Dim()), vectors{max(1, workers)}}
}

type scaled struct {
	f     Objective
	scale []float64
	x     []float64
	v     vectors
}

func (s *scaled) Dim() int      { return len(s.scale) }
func (s *scaled) Examples() int { return examplesOf(s.f) }

func (s *scaled) Eval(z, grad []float64) (float64, error) {
	product := func(dst, a []float64) {
		s.v.each(len(a), func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				dst[i] = s.scale[i] * a[i]
			}
		})
	}
	product(s.x, z)
	v, err := s.f.Eval(s.x, grad)
	if err == nil && grad != nil {
		product(grad, grad)
	}
	return v, err
}
