package leave

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/workspace/internal/session"
)

// What rye and its user put into the configuration directory: what goes with the records, and keys
// and secrets. Anything else there is not rye's.
var (
	configured = []string{"trust.yaml", "logged", session.PolicyFile, "consent.yaml", "sharing.yaml", "mcp-tokens.json"}
	secret     = []string{"keys", "threads.key", "secrets.yaml"}
)

// isOne reports whether a name is one of all, or a lock or a copy of one.
func isOne(all []string, name string) bool {
	return slices.ContainsFunc(all, func(c string) bool { return name == c || strings.HasPrefix(name, c+".") })
}

// directories adds the directories of the user: the cache, and, as q names them, the others.
func (p *plan) directories(h *session.Host, q rye.UninstallRequest) {
	var stay []string // directories that must not go with another one
	for _, d := range []struct {
		path string
		goes bool
	}{{h.Records.Dir(), q.Records}, {h.StateDir, q.Records}, {h.ConfigDir, q.Records && q.Keys}, {h.Home, false}, {h.ProjectDir, false}} {
		if d.path != "" && !d.goes {
			stay = append(stay, d.path)
		}
	}
	add := func(what, path string, goes bool, flag string) {
		switch {
		case !filepath.IsAbs(path) || !exists(path):
		case !goes:
			p.kept = append(p.kept, stays(rye.UninstallPart{What: what, Path: path, Status: rye.PartKept, Text: flag + " removes it"}))
		default:
			p.dirs = append(p.dirs, removal(h, what, path, stay))
		}
	}
	add(cachePart, h.CacheDir, true, "")
	add(recordsPart, h.StateDir, q.Records, "--records")
	add(recordsPart, h.Records.Dir(), q.Records, "--records")
	entries, _ := os.ReadDir(h.ConfigDir) // a missing directory holds none
	if !filepath.IsAbs(h.ConfigDir) {
		entries = nil
	}
	for _, last := range []bool{false, true} { // keys last: nothing brings them back
		for _, e := range entries {
			path := filepath.Join(h.ConfigDir, e.Name())
			switch {
			case last && isOne(secret, e.Name()):
				add(keysPart, path, q.Keys, "--keys")
			case !last && isOne(configured, e.Name()):
				add(recordsPart, path, q.Records, "--records")
			case !last && !isOne(secret, e.Name()):
				p.kept = append(p.kept, stays(rye.UninstallPart{What: filePart, Path: path, Status: rye.PartLeft, Text: "rye does not know it"}))
			}
		}
	}
}

// removal returns the step that removes a file or directory with everything in it, or why it stays.
func removal(h *session.Host, what, path string, stay []string) step {
	if why := notAlone(path, stay); why != "" {
		return stays(rye.UninstallPart{What: what, Path: path, Status: rye.PartLeft, Text: why, Hint: fault.Advice("look at it, and remove it by hand")})
	}
	return step{rye.UninstallPart{What: what, Path: path, Status: rye.PartRemoved}, func() error {
		if why := notAlone(path, stay); why != "" {
			return fault.New(fault.Conflict, "it changed meanwhile: %s", why)
		}
		if what == cachePart {
			if _, err := primitive.Sweep(h.RunsDir()); err != nil { // ends what killed runs left behind
				return err
			}
		}
		return removeAll(path)
	}}
}

// notAlone returns why a path is not rye's alone; "" if it is.
func notAlone(path string, stay []string) string {
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return err.Error()
	case st.Mode()&fs.ModeSymlink != 0:
		return "it is a link, which rye does not follow"
	}
	if err := place.Mine(path); err != nil {
		return err.Error()
	}
	if err := records.Outside(nil, path); err != nil {
		return err.Error()
	}
	for _, other := range stay {
		if real, err := place.Resolve(other); within(path, other) || err == nil && within(path, real) {
			return "it holds " + other + ", which stays"
		}
	}
	for _, name := range []string{".git", ".ai"} {
		if st.IsDir() && exists(filepath.Join(path, name)) {
			return "it holds " + name
		}
	}
	return ""
}

// removeAll removes a path of the user and everything below it. It follows no link. Directories
// without write permission, as runs leave them, get it first.
func removeAll(path string) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.New(fault.Failed, "remove %s: %w", path, err)
	}
	defer root.Close()
	name := filepath.Base(path)
	if err = root.RemoveAll(name); err != nil {
		_ = fs.WalkDir(root.FS(), name, func(p string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = root.Chmod(filepath.FromSlash(p), 0o700) // before WalkDir lists it
			}
			return nil
		})
		err = root.RemoveAll(name)
	}
	if err != nil {
		return fault.New(fault.Failed, "remove %s: %w", path, err)
	}
	return nil
}
