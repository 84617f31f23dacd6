// Command rye-cage is the first process of a sandbox: in the namespaces that rye starts it in
// it shows a tool what it may see, and starts it, confined. People do not call it: rye, which
// must lie beside it and come from the same build, does.
package main

import (
	"os"

	"github.com/rye-os/rye/chain/primitive/cage"
	"github.com/rye-os/rye/internal/build"
)

func main() { os.Exit(cage.Main(os.Args, build.This().ID)) }
