package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
)

func rows(sizes []int) []row {
	all := []row{
		{what: "start", peer: "git --version", setup: func(b *bench, _ int) (side, side, error) {
			return b.process(b.dir, "rye", "version"), b.process(b.dir, "git", "--version"), nil
		}},
		{what: "verify one item", peer: "git verify-commit", setup: verify},
		{what: "MCP call: execute of a knowledge entry", peer: "its own duration_ms", setup: mcpCall},
		{what: "MCP call over HTTP: load of a knowledge entry", peer: "the same over pipes", setup: mcpOverHTTP},
		{what: "MCP: start and initialise", peer: "rye version", setup: mcpInitialise},
		{what: "8 writers at once, one durable commit each", peer: "git, synced", setup: crowd},
	}
	all = slices.Concat(all, executeRows(), proxiedRows(), itemRows(), unrecordedRows(), denialRows())
	for _, r := range []row{
		{what: "load one verified item", peer: "git show", setup: load},
		{what: "load one verified item", peer: "rye version, which is a start", light: true, setup: loadOverStart},
		{what: "status of clean items", peer: "git status", setup: status},
		{what: "history of one item", peer: "git log -- path", setup: history},
		{what: "read one item, in this process", peer: "go-git", light: true, setup: readInside},
		{what: "commit one item, durable, in this process", peer: "its fsyncs alone", light: true, setup: commitBesideSyncs},
		{what: "commit one item, durable, in this process", peer: "go-git, not durable", light: true, setup: commitInside},
		{what: "verify every item", peer: "git fsck", heavy: true, setup: verifyAll},
		{what: "verify every item", peer: "ed25519 alone, in memory", heavy: true, setup: verifyBare},
		{what: "take in: verify and record", peer: "git fast-import", heavy: true, setup: takeIn},
	} {
		for _, n := range sizes {
			r.n = n
			all = append(all, r)
		}
	}
	all = slices.Concat(all, searchRows(sizes), folderRows(), compactRows(), doorRows(), threadRows(), registryRows(slices.Max(sizes)))
	return append(all, row{what: "publish in one push", n: slices.Max(sizes), peer: "git push of the same objects", heavy: true, setup: publish},
		row{what: "publish in one push", n: slices.Max(sizes), peer: "git fast-import of the same objects, and git push", heavy: true, setup: publishMade})
}

func load(b *bench, n int) (side, side, error) {
	dir, err := b.project(n)
	name := entry(n / 2)
	return b.process(dir, "rye", "load", "knowledge:"+name),
		b.process(dir, "git", "-C", b.store(dir), "show", "HEAD:knowledge/"+name+".md"), err
}

// loadOverStart compares loading an item with a bare start of the process.
func loadOverStart(b *bench, n int) (side, side, error) {
	dir, err := b.project(n)
	return b.process(dir, "rye", "load", "knowledge:"+entry(n/2)), b.process(dir, "rye", "version"), err
}

func verify(b *bench, _ int) (side, side, error) {
	dir, err := b.project(100)
	if err != nil {
		return nil, nil, err
	}
	signers, err := b.command(dir, "rye", "trust", "allowed-signers").Output()
	file := filepath.Join(b.dir, "allowed_signers")
	return b.process(dir, "rye", "verify", "knowledge:"+entry(1)),
		b.process(dir, "git", "-C", b.store(dir), "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+file, "verify-commit", "HEAD"),
		errors.Join(err, os.WriteFile(file, signers, 0o600))
}

// status compares with a git repository whose working tree is the same .ai.
func status(b *bench, n int) (side, side, error) {
	dir, err := b.project(n)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		// With gc.auto, git would pack during the measurement.
		err = errors.Join(b.do(dir, "git", "init", "--quiet"), b.do(dir, "git", "add", "--all"),
			b.do(dir, "git", "-c", "gc.auto=0", "commit", "--quiet", "-m", "items"))
		if err != nil {
			return nil, nil, err
		}
	}
	return b.process(dir, "rye", "status"), b.process(dir, "git", "status", "--short"), nil
}

// history reads the record of one item.
func history(b *bench, n int) (side, side, error) {
	dir, err := b.project(n)
	name := entry(n / 2)
	return b.process(dir, "rye", "log", "knowledge:"+name),
		b.process(dir, "git", "-C", b.store(dir), "log", "--format=%h %cs %an %s", "--", "knowledge/"+name+".md"), err
}

// takeIn begins with signed files and no store, as after a clone. rye verifies all of
// them and records them in one commit; git's fast-import gets the same bytes as a
// stream into an empty repository.
func takeIn(b *bench, n int) (side, side, error) {
	dir, err := b.project(n)
	if err != nil {
		return nil, nil, err
	}
	stream := filepath.Join(b.dir, "stream")
	if err := writeStream(stream, dir, n); err != nil {
		return nil, nil, err
	}
	ours := func() (cost, error) {
		if err := os.RemoveAll(filepath.Dir(b.store(dir))); err != nil {
			return cost{}, err
		}
		return b.process(dir, "rye", "sign", "--all", "--quiet")()
	}
	theirs := func() (cost, error) {
		repo := filepath.Join(b.dir, "import.git")
		if err := errors.Join(os.RemoveAll(repo), b.do(b.dir, "git", "init", "--quiet", "--bare", repo)); err != nil {
			return cost{}, err
		}
		in, err := os.Open(stream)
		if err != nil {
			return cost{}, err
		}
		defer in.Close()
		cmd := b.command(repo, "git", "fast-import", "--quiet")
		cmd.Stdin = in
		return b.timed(cmd)
	}
	return ours, theirs, nil
}
