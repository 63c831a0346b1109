package losses

// Want says what an evaluation is to compute, as a set of bits. LogZ is always
// computed.
type Want uint32

const (
	WantMarginals    Want = 1 << iota // Q under the augmented distribution, shaped as the potentials
	WantExpected                      // E[L] under the augmented distribution
	WantPlain                         // log Z without the loss
	WantRisk                          // E[L] under the plain distribution
	WantRiskGradient                  // its gradient with respect to the potentials
	WantMaxAug                        // the best θ(u) + γ L(u), and its u
	WantViterbi                       // the best θ(u), and its u
	WantHVP                           // Hessian of log Z times Evaluator.Direction
)

// Result holds what one evaluation computed. Slices belong to the Result and
// are used again by the next evaluation into it.
type Result struct {
	LogZ     float64 // log Σ_u exp(θ(u) + γ L(u)); -Inf when no u is allowed
	Expected float64 // E_aug[L] = d LogZ / dγ
	LogZ0    float64 // log Σ_u exp θ(u)
	Risk     float64 // E_0[L]

	Marginals    [][]float64 // Q_t(z) = P_aug(window at t is z) = d LogZ / d θ_t(z)
	RiskGradient [][]float64 // d Risk / d θ_t(z) = Cov_0(L, [window at t is z])
	HVP          [][]float64 // Cov_aug([window at t is z], V)

	MaxAug    float64 // max_u θ(u) + γ L(u)
	ArgmaxAug []int   // its u
	MaxScore  float64 // max_u θ(u)
	Viterbi   []int   // its u
}
