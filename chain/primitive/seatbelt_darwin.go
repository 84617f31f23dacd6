package primitive

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/rye-os/rye/internal/words"
)

// noSeatbelt returns the reason why no Seatbelt profile is used; "" where one is. It starts a
// program of the system under the least profile, once: a system that refuses the profile must not
// keep every tool from running.
var noSeatbelt = sync.OnceValue(func() string {
	if _, err := os.Stat(sandboxExec); err != nil {
		return err.Error()
	}
	const program = "/usr/bin/true"
	p, err := seatbelt(&Call{Argv: []string{program}}, resolve)
	if err != nil {
		return err.Error()
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	argv := p.argv([]string{program})
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var said bytes.Buffer
	cmd.Stderr, cmd.Env, cmd.WaitDelay = &said, []string{}, time.Second
	if err := cmd.Run(); err != nil {
		return sandboxExec + " refuses the profile: " + err.Error() + ": " + words.Clip(words.Line(said.String()), 200)
	}
	return ""
})
