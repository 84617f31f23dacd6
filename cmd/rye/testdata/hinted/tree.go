package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// passing are the names of what every command may write, whatever it does: caches, and
// the log of decisions; and temporary files.
var passing = []string{".cache", "cache", ".tmp", "verdicts.jsonl"}

// digest names everything that lies in the state: paths, kinds, modes and bytes.
func digest() (string, error) {
	h := sha256.New()
	for _, top := range states() {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			for _, name := range passing {
				if d.Name() == name {
					if d.IsDir() {
						return filepath.SkipDir
					}
					return nil
				}
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%q %v\n", path, info.Mode())
			switch {
			case info.Mode().IsRegular() && filepath.Base(path) != "project.lock":
				raw, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				fmt.Fprintf(h, "%x\n", sha256.Sum256(raw))
			case info.Mode()&fs.ModeSymlink != 0:
				to, err := os.Readlink(path)
				if err != nil {
					return err
				}
				fmt.Fprintf(h, "%q\n", to)
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// match makes the tree to what the tree from is. What is the same already is not touched,
// so that a directory stays the one that it was.
func match(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	want, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(to)
	}
	if err != nil {
		return err
	}
	stays := map[string]bool{}
	for _, e := range want {
		stays[e.Name()] = true
	}
	have, err := os.ReadDir(to)
	if err != nil {
		return err
	}
	for _, e := range have {
		if !stays[e.Name()] {
			if err := os.RemoveAll(filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
	}
	for _, e := range want {
		if err := matchOne(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func matchOne(from, to string) error {
	want, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if have, err := os.Lstat(to); err == nil && have.Mode().Type() != want.Mode().Type() {
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
	switch {
	case want.IsDir():
		if err := match(from, to); err != nil {
			return err
		}
		return os.Chmod(to, want.Mode().Perm())
	case want.Mode()&fs.ModeSymlink != 0:
		link, err := os.Readlink(from)
		if err != nil {
			return err
		}
		if is, err := os.Readlink(to); err == nil && is == link {
			return nil
		}
		os.Remove(to)
		return os.Symlink(link, to)
	case !want.Mode().IsRegular():
		return nil // a pipe or a socket belongs to who made it
	}
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if is, err := os.ReadFile(to); err == nil && bytes.Equal(is, raw) {
		return os.Chmod(to, want.Mode().Perm())
	}
	os.Remove(to) // it may be read-only
	if err := os.WriteFile(to, raw, want.Mode().Perm()); err != nil {
		return err
	}
	if err := os.Chmod(to, want.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(to, want.ModTime(), want.ModTime())
}
