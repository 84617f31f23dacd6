// Command rye-engine is the part of rye that takes longer to start: MCP, full text,
// threads. People do not call it: rye does, which must lie beside it and come from the
// same build.
package main

import (
	"context"
	"os"

	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/cli"
	"github.com/rye-os/rye/internal/startheap"
	"github.com/rye-os/rye/objects/trust/agefile"
	"github.com/rye-os/rye/store/gogit"
)

func main() {
	startheap.Restore()
	faces := map[string]app.Face{"mcp": searching(serveMCP), "keyservice": serveKeys, "page": servePage, app.ThreadFace: searching(runThread), app.ServeFace: searching(serveCall)}
	exit := app.EngineMain(os.Args, faces, func(argv []string) int {
		return cli.Main(argv, cli.Parts{Threads: threads, Words: words, Turns: turns, Historian: gogit.History{}, Seal: agefile.Seal, Open: agefile.Open})
	})
	written()
	os.Exit(exit)
}

// searching returns a face with word search.
func searching(face app.Face) app.Face {
	return func(ctx context.Context, a *app.App) error {
		a.Words = words(a)
		return face(ctx, a)
	}
}
