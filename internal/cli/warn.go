package cli

import (
	"fmt"
	"strings"

	"github.com/rye-os/rye"
)

// warn shows the warnings of registries about versions in use, one on each line.
func (p *printer) warn(all ...string) {
	for _, w := range all {
		if w != "" {
			p.infof("rye: warning: %s", prose(w))
		}
	}
}

// printDependencies prints in one line how many dependencies need attention, as far as rye
// knows without the network, and in one line which signatures are not staged.
func (p *printer) printDependencies(sum *rye.Survey) {
	p.printStaged(sum.Staged)
	var parts []string
	if n := sum.Outdated; n > 0 {
		parts = append(parts, dependencies(n)+" outdated")
	}
	if n := sum.Warned; n > 0 {
		parts = append(parts, dependencies(n)+" deprecated or yanked")
	}
	if len(parts) > 0 {
		p.infof("rye: %s; details: rye outdated", strings.Join(parts, ", "))
	}
}

func dependencies(n int) string {
	if n == 1 {
		return "1 dependency"
	}
	return fmt.Sprintf("%d dependencies", n)
}
