package federated

// KernelOptions are the settings of classification in one round.
type KernelOptions struct {
	Kernel string  `json:"kernel,omitempty" flag:"kernel" values:"gaussian,linear" default:"gaussian" help:"Kernel of the functions"`
	Width  float64 `json:"width,omitempty" flag:"width" default:"1" above:"0" help:"Width of the Gaussian, in units of the inputs"`
	Cost   string  `json:"cost,omitempty" flag:"cost" values:"hinge,margin,total-hinge" default:"hinge" help:"Constraint on samples: a price on hinge losses, their margin, or a bound on all hinge losses"`
	Price  float64 `json:"price,omitempty" flag:"price" default:"1" above:"0" help:"Price of a unit of hinge loss (cost hinge)"`
	Eps    float64 `json:"eps,omitempty" flag:"eps" min:"0" max:"1" help:"Samples need a margin of 1-eps"`
	Hinge  float64 `json:"hinge,omitempty" flag:"hinge" default:"0.1" above:"0" help:"Mean hinge loss that is allowed (cost total-hinge)"`
	Gamma  float64 `json:"gamma,omitempty" flag:"gamma" min:"0" help:"Price of the measure of the coefficients' support; above 0 the function is an integral over centres and widths"`
	Scale  string  `json:"scale,omitempty" flag:"scale" values:"agents,none" default:"agents" help:"Standardise inputs by the agents' sums, one small exchange more, or leave them"`
	// These send less than the source's rule, and are not of it.
	AgentPrice float64 `json:"agent_price,omitempty" flag:"agent_price" min:"0" help:"Price at the agents; a higher one than the server's makes fewer samples critical; 0 is the server's" topic:"sending less"`
	Most       float64 `json:"most,omitempty" flag:"most" min:"0" max:"1" help:"Largest share of an agent's rows to send. If more are critical, those that are spread out are sent; 0 is no bound" topic:"sending less"`
	Counts     bool    `json:"counts,omitempty" flag:"counts" help:"Weight samples by the rows of their agent and class that are nearest to them. The certificate then is not of the original problem" topic:"sending less"`

	Verify bool `json:"verify,omitempty" flag:"verify" help:"Ask agents for the number of their samples that violate the model's constraints"`
	Repair int  `json:"repair,omitempty" flag:"repair" min:"0" max:"100" help:"Rounds in which agents send the samples that violate the constraints, and the server solves again"`

	Tolerance       float64 `json:"tolerance,omitempty" flag:"tolerance" default:"1e-06" above:"0" max:"0.1" help:"Multipliers above this share of the largest are critical" topic:"accuracy"`
	MarginTolerance float64 `json:"margin_tolerance,omitempty" flag:"margin_tolerance" default:"0.0001" above:"0" max:"1" help:"Samples so near to their margin are critical, and violations are larger than this" topic:"accuracy"`
	Accuracy        float64 `json:"accuracy,omitempty" flag:"accuracy" default:"1e-05" above:"0" max:"0.1" help:"Largest violation at which the solver stops" topic:"accuracy"`
	MaxSteps        int     `json:"max_steps,omitempty" flag:"max_steps" default:"20000000" min:"1" help:"Most steps of the solver" topic:"accuracy"`

	Widths []float64 `json:"widths,omitempty" flag:"widths" above:"0" help:"Least and largest width of the integral (gamma above 0)" topic:"integral"`
	Lo     []float64 `json:"lo,omitempty" flag:"lo" help:"Lower corner of the integral's centres, in units of the inputs as scaled" topic:"integral"`
	Hi     []float64 `json:"hi,omitempty" flag:"hi" help:"Upper corner of the integral's centres" topic:"integral"`
	Points int       `json:"points,omitempty" flag:"points" default:"2000" min:"1" max:"1000000" help:"Points of the integral" topic:"integral"`
	Steps  int       `json:"steps,omitempty" flag:"steps" default:"2000" min:"1" max:"1000000" help:"Steps of ascent (gamma above 0)" topic:"integral"`
}

// AverageOptions are the settings of federated averaging.
type AverageOptions struct {
	Rounds   int     `json:"rounds,omitempty" flag:"rounds" default:"100" min:"1" max:"1000000" help:"Rounds"`
	Local    int     `json:"local,omitempty" flag:"local" default:"5" min:"1" max:"10000" help:"Iterations that each agent takes from the mean in a round"`
	L2       float64 `json:"l2,omitempty" flag:"l2" default:"0.001" above:"0" help:"Penalty of the squared weights, on the mean loss"`
	Features int     `json:"features,omitempty" flag:"features" min:"0" max:"100000" help:"Random Fourier features of the Gaussian kernel; 0 is a linear model"`
	Width    float64 `json:"width,omitempty" flag:"width" default:"1" above:"0" help:"Width of the Gaussian, in units of the inputs as scaled"`
}
