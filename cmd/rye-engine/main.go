// Command rye-engine is the part of rye that takes longer to start. People do not
// call it: rye, which must lie beside it and come from the same build, does.
package main

import (
	"os"

	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/cli"
)

func main() {
	os.Exit(app.EngineMain(os.Args, map[string]app.Face{"mcp": serveMCP, "keyservice": serveKeys, "page": servePage, app.ThreadFace: runThread, app.ServeFace: serveCall}, func(argv []string) int {
		return cli.Main(argv, cli.Parts{Threads: threads})
	}))
}
