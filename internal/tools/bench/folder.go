package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// folderRows sign one of many items in one folder, as users may arrange them. Every commit then
// writes a wide tree. git does the same with the same file. Neither packs in between;
// compactRows show the size on disk.
func folderRows() []row {
	return []row{
		{what: "sign one of 10,000 items in one folder", peer: "git add, git commit, synced", light: true, setup: func(b *bench, _ int) (side, side, error) {
			return b.signInFolder(10000, "all")
		}},
		{what: "sign one of 10,000 items in one folder", peer: "git add, git commit", light: true, setup: func(b *bench, _ int) (side, side, error) {
			return b.signInFolder(10000, "default")
		}},
	}
}

func (b *bench) signInFolder(n int, fsync string) (side, side, error) {
	dir, err := b.oneFolder(n)
	if err != nil {
		return nil, nil, err
	}
	repo := filepath.Join(b.dir, "folder-"+fsync)
	from := filepath.Join(dir, ".ai", "knowledge", "acme")
	err = errors.Join(os.CopyFS(filepath.Join(repo, "acme"), os.DirFS(from)), b.do(repo, "git", "init", "--quiet"),
		b.do(repo, "git", "config", "core.fsync", fsync), b.do(repo, "git", "config", "gc.auto", "0"),
		b.do(repo, "git", "add", "--all"), b.do(repo, "git", "commit", "--quiet", "-m", "items"), b.do(repo, "git", "gc", "--quiet"))
	name := func(i int) string { return fmt.Sprintf("e%05d", i*97%n) }
	mine, its := 0, 0
	ours := func() (cost, error) {
		mine++
		if err := inFolder(from, name(mine), mine); err != nil {
			return cost{}, err
		}
		return b.process(dir, "rye", "sign", "knowledge:acme/"+name(mine))()
	}
	theirs := func() (cost, error) {
		its++
		path := "acme/" + name(its) + ".md"
		if err := inFolder(filepath.Dir(filepath.Join(repo, path)), name(its), its); err != nil {
			return cost{}, err
		}
		add, err1 := b.process(repo, "git", "add", path)()
		commit, err2 := b.process(repo, "git", "commit", "--quiet", "-m", "x")()
		return cost{wall: add.wall + commit.wall, cpu: add.cpu + commit.cpu}, errors.Join(err1, err2)
	}
	return ours, theirs, err
}

// oneFolder returns a project with n signed items in one folder. It is made once.
func (b *bench) oneFolder(n int) (string, error) {
	dir := filepath.Join(b.dir, "one-folder")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	into := filepath.Join(dir, ".ai", "knowledge", "acme")
	if err := os.MkdirAll(into, 0o755); err != nil {
		return "", err
	}
	for i := range n {
		if err := inFolder(into, fmt.Sprintf("e%05d", i), 0); err != nil {
			return "", err
		}
	}
	return dir, errors.Join(b.do(dir, "rye", "init", "--namespace", "acme"), b.do(dir, "rye", "sign", "--all", "--quiet"), b.do(dir, "rye", "gc", "--quiet"))
}

// inFolder writes one version of an item, unsigned.
func inFolder(dir, name string, version int) error {
	head := fmt.Sprintf("---\nid: %s\ntitle: Entry\nversion: 1.%d.0\nentry_type: reference\ncategory: acme\n---\n\n", name, version)
	return os.WriteFile(filepath.Join(dir, name+".md"), append([]byte(head), said(len(name), version)...), 0o644)
}
