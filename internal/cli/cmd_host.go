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
		short: "Check a push, as the pre-receive hook of a host",
		long: `For a registry on a plain git host. In the bare repository, hooks/pre-receive is

    #!/bin/sh
    exec rye registry hook

and executable. The hook verifies every operation that a push adds to main and ns/**, with
everything that the operation wrote. A push that readers would refuse changes nothing. No
branch of a registry can be deleted, and no log can be rewound. Only members write
content/**, and they may rewind it for a rebuild. Other refs are not checked. The hook
needs no key and no network. rye itself runs no hooks when it pushes to a directory.`,
		examples: "rye registry hook",
		exits:    sharing,
		run: func(t *task) error {
			repo, objects := t.env.Pushed()
			if repo == "" {
				return fault.New(fault.Usage, "registry hook: git runs this, with GIT_DIR set").Advise("see rye registry hook --help")
			}
			raw, err := io.ReadAll(io.LimitReader(t.screen.In, maxPush+1))
			if err != nil {
				return fault.New(fault.Failed, "read the pushed refs: %w", err)
			}
			if len(raw) > maxPush {
				return fault.New(fault.Limit, "push: more than %d bytes of refs", maxPush)
			}
			q := rye.ReceiveRequest{Repository: repo, Objects: objects, Moves: string(raw)}
			return answer(t, t.w.Registry().Receive, q, func(*printer, *rye.ReceiveReport) {})
		},
	}
}
