//go:build !amd64 || purego

package gibbs

var best = isaGo

func scanVector(int, *scanArgs)                          { panic("gibbs: no vectors") }
func siteVector(int, *siteArgs)                          { panic("gibbs: no vectors") }
func stepVector(int, *stepArgs)                          { panic("gibbs: no vectors") }
func lessVector(isa int, at, o *cells, n int)            { panic("gibbs: no vectors") }
func meetVector(isa int, f, g *cells, n int, low *cells) { panic("gibbs: no vectors") }
