package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rye-os/rye/store"
)

// unrecordedRows measure the state after a pull by plain git: signed items that the record has
// only in other versions. rye must read the whole record once to find out whether one of them is
// older.
func unrecordedRows() []row {
	sizes := []struct{ items, commits int }{{200, 500}}
	if os.Getenv("RYE_SOAK") == "1" {
		sizes = append(sizes, struct{ items, commits int }{118, 3872})
	}
	var all []row
	for _, s := range sizes {
		state := fmt.Sprintf("of %d unrecorded items, %d commits", s.items, s.commits)
		for _, verb := range []string{"status", "verify"} {
			all = append(all, row{what: verb + " " + state, peer: "git status", setup: func(b *bench, _ int) (side, side, error) {
				dir, err := b.unrecorded(s.items, s.commits)
				return b.uncached(b.process(dir, "rye", verb, "--quiet")), b.process(dir, "git", "status", "--short"), err
			}})
		}
	}
	return all
}

// uncached returns a side that begins without caches, which would hold the result.
func (b *bench) uncached(do side) side {
	return func() (cost, error) {
		if err := os.RemoveAll(filepath.Join(b.dir, ".cache")); err != nil {
			return cost{}, err
		}
		return do()
	}
}

// unrecorded returns a project with this number of commits in its record, each with one version
// of one item. The files are a newer version of all items. The project is made once.
func (b *bench) unrecorded(items, commits int) (dir string, err error) {
	dir = filepath.Join(b.dir, fmt.Sprintf("unrecorded-%d", commits))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	if err := b.do(dir, "rye", "init", "--namespace", "acme"); err != nil {
		return "", err
	}
	repo, fresh := b.store(dir), filepath.Join(b.dir, "fresh.git")
	if err := errors.Join(os.RemoveAll(fresh), os.CopyFS(fresh, os.DirFS(repo))); err != nil {
		return "", err
	}
	versions, err := b.versionsOf(dir, items, commits/items+2)
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.RemoveAll(repo), os.Rename(fresh, repo)); err != nil {
		return "", err
	}
	r, err := store.Open(repo)
	if err != nil {
		return "", err
	}
	for i := range commits {
		c := versions[i/items][i%items]
		if _, err = r.Edit(b.ctx, "refs/heads/spaces/project", []store.Change{c}, commitNow("sign "+c.Path+"\n")); err != nil {
			break
		}
	}
	return dir, errors.Join(err, r.Close(), b.do(dir, "git", "init", "--quiet"), b.do(dir, "git", "add", "--all"),
		b.do(dir, "git", "-c", "gc.auto=0", "commit", "--quiet", "-m", "items"))
}

// versionsOf signs n versions of items, a second apart. The files keep the last version.
func (b *bench) versionsOf(dir string, items, n int) (all [][]store.Change, err error) {
	for v := range n {
		if v > 0 {
			time.Sleep(time.Second) // signatures have whole seconds
		}
		var now []store.Change
		for i := range items {
			if err := writeEntry(dir, i); err != nil {
				return nil, err
			}
			p := filepath.Join(dir, ".ai", "knowledge", filepath.FromSlash(entry(i))+".md")
			text, err := os.ReadFile(p)
			if err == nil {
				err = os.WriteFile(p, []byte(strings.Replace(string(text), "version: 1.0.0", fmt.Sprintf("version: 1.%d.0", v), 1)), 0o644)
			}
			if err != nil {
				return nil, err
			}
		}
		if err := b.do(dir, "rye", "sign", "--all", "--quiet"); err != nil {
			return nil, err
		}
		for i := range items {
			path := "knowledge/" + entry(i) + ".md"
			text, err := os.ReadFile(filepath.Join(dir, ".ai", filepath.FromSlash(path)))
			if err != nil {
				return nil, err
			}
			now = append(now, store.Change{Path: path, Data: text})
		}
		all = append(all, now)
	}
	return all, nil
}
