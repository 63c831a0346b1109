module github.com/tropica-fst/tropica/cmd/fed

go 1.26

require (
	connectrpc.com/connect v1.19.1
	github.com/tropica-fst/tropica v0.0.0
)

require (
	golang.org/x/sys v0.30.0 // indirect
	golang.org/x/tools v0.30.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
	google.golang.org/protobuf v1.36.9 // indirect
)

replace github.com/tropica-fst/tropica => ../..
