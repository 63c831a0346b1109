module github.com/tropica-fst/tropica/cmd/capi

go 1.26

require github.com/tropica-fst/tropica v0.0.0

require (
	github.com/emirpasic/gods/v2 v2.0.0-alpha // indirect
	golang.org/x/sys v0.30.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace github.com/tropica-fst/tropica => ../..
