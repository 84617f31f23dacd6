package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/revoked"
	"github.com/rye-os/rye/objects/trust"
)

// Numbers of denials: more than any registry has, and as many as rye keeps for one signer.
const (
	manyRevoked = 1_000_000
	manyDenied  = objects.MaxTakenLines
)

// denialRows show the cost of denials that apply to nothing here. The peer is the same command
// without denials.
func denialRows() []row {
	return []row{
		{what: fmt.Sprintf("load one item, %d revoked versions", manyRevoked), peer: "the same with none", setup: loadAmongRevoked},
		{what: fmt.Sprintf("status, %d lines in .ai/denied", manyDenied), peer: "the same with none", setup: denied(false, "status")},
		{what: fmt.Sprintf("execute, which keeps %d lines", manyDenied), peer: "the same with none", setup: denied(true, "execute", "tool:acme/bench")},
	}
}

// loadAmongRevoked compares two homes of one user, each with its own caches. In one of them a
// registry revoked a million versions in the item's namespace.
func loadAmongRevoked(b *bench, _ int) (side, side, error) {
	dir, err := b.project(100)
	if err != nil {
		return nil, nil, err
	}
	home := filepath.Join(b.dir, "revoked")
	versions := make([]revoked.Version, manyRevoked)
	for i := range versions {
		versions[i] = revoked.Version{Digest: objects.DigestOf(fmt.Append(nil, i)), Name: fmt.Sprintf("acme/knowledge/x%d@1.0.0", i), Reason: "a mistake"}
	}
	list := revoked.Path(filepath.Join(home, "state", "rye", "registries"), objects.DigestOf([]byte("a registry")), "acme")
	if err := errors.Join(os.MkdirAll(filepath.Dir(list), 0o700), revoked.Add(list, versions)); err != nil {
		return nil, nil, err
	}
	load := func(home string) side {
		return func() (cost, error) {
			cmd := b.command(dir, "rye", "load", "knowledge:"+entry(50))
			cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_CACHE_HOME="+filepath.Join(home, "cache"))
			return b.timed(cmd)
		}
	}
	return load(home), load(filepath.Join(b.dir, "none")), nil
}

// denied compares a project with the largest kept number of its owner's lines in .ai/denied with
// a project without any. The command keeps the lines, or only reads them.
func denied(keeps bool, args ...string) func(*bench, int) (side, side, error) {
	return func(b *bench, _ int) (side, side, error) {
		dir, err := b.project(100)
		if err != nil {
			return nil, nil, err
		}
		file := filepath.Join(dir, ".ai", objects.TakenFile)
		b.undo = append(b.undo, func() error { return os.Remove(file) })
		text, err := b.deniedLines(dir)
		command := func(text []byte, keeps bool) side {
			return func() (cost, error) {
				all := filepath.Join(b.dir, ".local", "share", "rye", "projects")
				if err := errors.Join(os.RemoveAll(all), os.WriteFile(file, text, 0o644)); err != nil {
					return cost{}, err
				}
				c, err := b.process(dir, append([]string{"rye"}, args...)...)()
				if kept, _ := filepath.Glob(filepath.Join(all, "*", objects.TakenFile, strings.Repeat("[0-9a-f]", 64))); (len(kept) > 0) != keeps {
					err = errors.Join(err, fmt.Errorf("lines were kept: %t, want %t", len(kept) > 0, keeps))
				}
				return c, err
			}
		}
		return command(text, keeps), command(nil, false), err
	}
}

// deniedLines returns denials of contents that do not exist, by the key that signs in the project.
func (b *bench) deniedLines(dir string) ([]byte, error) {
	path, _, err := b.benchKey()
	if err != nil {
		return nil, err
	}
	key, err := trust.LoadKey(path, nil)
	if err != nil {
		return nil, err
	}
	out, err := b.command(dir, "rye", "trust", "--dry-run", "--json").Output()
	if err != nil {
		return nil, err
	}
	var statement struct{ Project string }
	if err := json.Unmarshal(out, &statement); err != nil {
		return nil, err
	}
	ref, err := objects.ParseRef("tool:acme/bench")
	if err != nil {
		return nil, err
	}
	var text []byte
	for i := range manyDenied {
		l, err := trust.TakeBack(b.ctx, key, ref, objects.DigestOf(fmt.Append(nil, i)), statement.Project, time.Now())
		if err != nil {
			return nil, err
		}
		text = append(append(text, l.Line()...), '\n')
	}
	return text, nil
}
