package cli

import (
	"io"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// maxPush bounds git's input to a hook about a push, in bytes.
const maxPush = 1 << 20

func registryHook() *spec {
	return &spec{
		name:  "hook",
		short: "Judge a push, as the pre-receive hook of a host",
		long: `For who hosts a registry with plain git. In the bare repository, hooks/pre-receive is

    #!/bin/sh
    exec rye registry hook

and executable. Every operation of main and of ns/** that a push adds is then verified with
everything that it wrote, and a push that readers would refuse changes nothing. No branch of
a registry is deleted, and no log is set back. content/** is written by members only, and
set back by them, who rebuild it. Other refs are not looked at. It needs no key, and no
network; rye itself, pushing to a directory, runs no hooks.`,
		examples: "rye registry hook",
		exits:    sharing,
		run: func(t *task) error {
			repo, objects := t.env.Pushed()
			if repo == "" {
				return fault.New(fault.Usage, "registry hook: git runs this, with GIT_DIR set").Advise("see rye registry hook --help")
			}
			raw, err := io.ReadAll(io.LimitReader(t.screen.In, maxPush+1))
			if err != nil {
				return fault.New(fault.Failed, "read what is pushed: %w", err)
			}
			if len(raw) > maxPush {
				return fault.New(fault.Limit, "push: more than %d bytes of refs", maxPush)
			}
			q := rye.ReceiveRequest{Repository: repo, Objects: objects, Moves: string(raw)}
			return answer(t, t.w.Registry().Receive, q, func(*printer, *rye.ReceiveReport) {})
		},
	}
}
