// Command rye-cage is the first process of a sandbox: in the namespaces that rye made, it
// builds the tool's view and starts the tool, confined. People do not call it: rye does,
// which must lie beside it and come from the same build.
package main

import (
	"os"

	"github.com/rye-os/rye/chain/primitive/cage"
	"github.com/rye-os/rye/internal/build"
)

func main() { os.Exit(cage.Main(os.Args, build.This().ID)) }
