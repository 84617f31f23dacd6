package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

type side = func() (time.Duration, error)

func rows(large int) []row {
	return append([]row{
		{what: "start", peer: "git --version", setup: func(b *bench) (side, side, error) {
			return b.process(b.dir, "rye", "version"), b.process(b.dir, "git", "--version"), nil
		}},
		{what: "load one verified item of 100", peer: "git show", setup: load(100)},
		{what: fmt.Sprintf("load one verified item of %d", large), peer: "git show", setup: load(large)},
		{what: "execute a signed, locked bash tool", peer: "bash script", setup: execute},
		{what: "verify one item", peer: "git verify-commit", setup: verify},
		{what: "status of 1000 clean items", peer: "git status", setup: status(1000)},
		{what: fmt.Sprintf("status of %d clean items", large), peer: "git status", heavy: true, setup: status(large)},
		{what: fmt.Sprintf("search %d items by name", large), peer: "grep -rl", setup: search(large)},
		{what: fmt.Sprintf("take in %d items", large), peer: "git fast-import", heavy: true, setup: takeIn(large)},
		{what: "MCP call: execute of a knowledge entry", peer: "its own duration_ms", setup: mcpCall},
	}, itemRows(large)...)
}

func load(n int) func(*bench) (side, side, error) {
	return func(b *bench) (side, side, error) {
		dir, err := b.project(n)
		name := entry(n / 2)
		return b.process(dir, "rye", "load", "knowledge:"+name),
			b.process(dir, "git", "-C", ".ai/.rye/store.git", "show", "HEAD:knowledge/"+name+".md"), err
	}
}

func execute(b *bench) (side, side, error) {
	dir, err := b.project(100)
	return b.process(dir, "rye", "execute", "--locked", "tool:acme/bench"),
		b.process(dir, "bash", ".ai/tools/acme/bench.sh", "{}", dir), err
}

func verify(b *bench) (side, side, error) {
	dir, err := b.project(100)
	if err != nil {
		return nil, nil, err
	}
	signers, err := b.command(dir, "rye", "trust", "allowed-signers").Output()
	file := filepath.Join(b.dir, "allowed_signers")
	return b.process(dir, "rye", "verify", "knowledge:"+entry(1)),
		b.process(dir, "git", "-C", ".ai/.rye/store.git", "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+file, "verify-commit", "HEAD"),
		errors.Join(err, os.WriteFile(file, signers, 0o600))
}

// status compares with a git repository whose working tree is the same .ai.
func status(n int) func(*bench) (side, side, error) {
	return func(b *bench) (side, side, error) {
		dir, err := b.project(n)
		if err != nil {
			return nil, nil, err
		}
		if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
			err = errors.Join(b.do(dir, "git", "init", "--quiet"), b.do(dir, "git", "add", "--all"), b.do(dir, "git", "commit", "--quiet", "-m", "items"))
			if err != nil {
				return nil, nil, err
			}
		}
		return b.process(dir, "rye", "status"), b.process(dir, "git", "status", "--short"), nil
	}
}

// search looks for a word that stands in the title of one entry.
func search(n int) func(*bench) (side, side, error) {
	return func(b *bench) (side, side, error) {
		dir, err := b.project(n)
		word := fmt.Sprintf("e%05d", n/2)
		return b.process(dir, "rye", "search", word), b.process(dir, "grep", "-rl", word, ".ai/knowledge"), err
	}
}

// takeIn begins with signed files and no store, as after a clone: ours verifies
// and records them all in one commit; git's fast-import gets the same bytes as a
// stream into an empty repository.
func takeIn(n int) func(*bench) (side, side, error) {
	return func(b *bench) (side, side, error) {
		dir, err := b.project(n)
		if err != nil {
			return nil, nil, err
		}
		stream := filepath.Join(b.dir, "stream")
		if err := writeStream(stream, dir, n); err != nil {
			return nil, nil, err
		}
		ours := func() (time.Duration, error) {
			if err := os.RemoveAll(filepath.Join(dir, ".ai", ".rye")); err != nil {
				return 0, err
			}
			return b.process(dir, "rye", "adopt", "--all", "--yes", "--quiet")()
		}
		theirs := func() (took time.Duration, err error) {
			repo := filepath.Join(b.dir, "import.git")
			if err := errors.Join(os.RemoveAll(repo), b.do(b.dir, "git", "init", "--quiet", "--bare", repo)); err != nil {
				return 0, err
			}
			in, err := os.Open(stream)
			if err != nil {
				return 0, err
			}
			defer in.Close()
			cmd := b.command(repo, "git", "fast-import", "--quiet")
			cmd.Stdin = in
			start := time.Now()
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("git fast-import: %w: %s", err, clip(out))
			}
			return time.Since(start), err
		}
		return ours, theirs, nil
	}
}
