module github.com/tropica-fst/tropica

go 1.26
