module github.com/tropica-fst/tropica/cmd/capi

go 1.26

require github.com/tropica-fst/tropica v0.0.0

require github.com/emirpasic/gods/v2 v2.0.0-alpha // indirect

replace github.com/tropica-fst/tropica => ../..
