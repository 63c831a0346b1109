package g2p

type engineLattice struct{}

func (em *emission) expectedEngine(counts []float64) (float64, error) {
	return em.expectedDirect(counts)
}
