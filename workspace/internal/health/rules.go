package health

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/rye-os/rye/chain/audit"
	"github.com/rye-os/rye/fault"
)

// rulesFile holds a project's own rules. It needs no signature, because it can only add.
const rulesFile = ".ai/audit-rules.yaml"

// projectRules returns the built-in rules and those of a project. With an error they are the built-in ones.
func projectRules(dir string) (*audit.Rules, error) {
	rules := audit.Builtin()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return rules, err
	}
	defer root.Close()
	st, err := root.Lstat(rulesFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return rules, nil
	case err != nil:
		return rules, err
	case !st.Mode().IsRegular():
		return rules, fault.New(fault.Malformed, "%s is not a regular file", rulesFile)
	case st.Size() > audit.MaxRules:
		return rules, fault.New(fault.Limit, "%s: %d bytes, at most %d", rulesFile, st.Size(), audit.MaxRules)
	}
	f, err := root.Open(rulesFile)
	if err != nil {
		return rules, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, audit.MaxRules+1))
	if err != nil {
		return rules, err
	}
	all, err := rules.With(raw)
	if err != nil {
		return rules, fault.Wrap(err, "%s", rulesFile)
	}
	return all, nil
}
