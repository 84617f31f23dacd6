// Command rye is the front: items, trust, stores, runs and registries at the command line.
// Parts that start slowly live in rye-engine, which must lie beside it.
package main

import (
	"os"

	"github.com/rye-os/rye/internal/cli"
	_ "github.com/rye-os/rye/internal/headroom"
)

func main() { os.Exit(cli.Main(os.Args, cli.Parts{})) }
