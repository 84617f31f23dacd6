package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// itemRows measure signing and verifying. In memory the peer is the necessary minimum,
// Ed25519 and SHA-256 over the same bytes. As processes it is ssh-keygen, which neither
// records nor syncs, and git, which does both.
func itemRows() []row {
	return []row{
		{what: "sign 4 KiB in memory, 1000 times", peer: "ed25519 and sha256 alone", setup: signInMemory},
		{what: "verify 4 KiB in memory, 1000 times", peer: "ed25519 and sha256 alone", setup: verifyInMemory},
		{what: "sign, write, sync, commit one item", peer: "git commit -S, synced", setup: signDurable},
		{what: "sign one item", peer: "ssh-keygen -Y sign", setup: signBesideKeygen},
		{what: "verify one item of 4 KiB", peer: "ssh-keygen -Y verify", setup: verifyBesideKeygen},
	}
}

const inMemory = 1000

// fourKiB returns a tool of 4 KiB with a number in its text.
func fourKiB(i int) string {
	text := fmt.Sprintf("# version: 1.0.0\n# tool_type: bash\n# executor_id: rye/core/runtimes/bash_runtime\n# category: acme\n# description: Number %d.\n\n", i)
	return text + strings.Repeat("# padding\n", (4096-len(text))/10)
}

// signer is a key and items in memory, signed by it.
type signer struct {
	key   *trust.FileKey
	raw   ed25519.PrivateKey
	in    trust.Scope
	store *trust.Store
	items []*objects.Item
}

func newSigner() (*signer, error) {
	key, err := trust.GenerateKey()
	if err != nil {
		return nil, err
	}
	s := &signer{key: key, raw: ed25519.NewKeyFromSeed(make([]byte, 32)), in: trust.Scope{Space: objects.User}}
	if s.store, err = trust.ParseStore([]byte("format: 1\n")); err != nil {
		return nil, err
	}
	if err := s.store.AddOwn(key.Public(), "bench"); err != nil {
		return nil, err
	}
	for i := range inMemory {
		it, err := objects.Parse(fmt.Sprintf("tools/acme/t%04d.sh", i), []byte(fourKiB(i)))
		if err != nil {
			return nil, err
		}
		s.items = append(s.items, it)
	}
	return s, nil
}

func timed(do func(i int) error) side {
	return inside(func() error {
		for i := range inMemory {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	})
}

func signInMemory(b *bench, _ int) (side, side, error) {
	s, err := newSigner()
	if err != nil {
		return nil, nil, err
	}
	ours := timed(func(i int) error {
		_, err := trust.SignItem(b.ctx, s.key, s.items[i], s.in, time.Now())
		return err
	})
	theirs := timed(func(i int) error {
		sum := sha256.Sum256(s.items[i].Raw)
		ed25519.Sign(s.raw, sum[:])
		return nil
	})
	return ours, theirs, nil
}

// verifyInMemory uses a new store each time, because a store remembers valid signatures.
func verifyInMemory(b *bench, _ int) (side, side, error) {
	s, err := newSigner()
	if err != nil {
		return nil, nil, err
	}
	text, err := s.store.Encode()
	if err != nil {
		return nil, nil, err
	}
	var sigs [][]byte
	for i, it := range s.items {
		raw, err := trust.SignItem(context.Background(), s.key, it, s.in, time.Now())
		if err == nil {
			s.items[i], err = objects.Parse(it.Path, raw)
		}
		if err != nil {
			return nil, nil, err
		}
		sum := sha256.Sum256(raw)
		sigs = append(sigs, ed25519.Sign(s.raw, sum[:]))
	}
	ours := func() (cost, error) {
		st, err := trust.ParseStore(text)
		if err != nil {
			return cost{}, err
		}
		return timed(func(i int) error { _, err := trust.Verify(s.items[i], s.in, st); return err })()
	}
	public := s.raw.Public().(ed25519.PublicKey)
	theirs := timed(func(i int) error {
		if sum := sha256.Sum256(s.items[i].Raw); !ed25519.Verify(public, sum[:], sigs[i]) {
			return errors.New("ed25519 refuses what it signed")
		}
		return nil
	})
	return ours, theirs, nil
}

// benchKey returns the path of the user's key, and of an allowed_signers file with it.
func (b *bench) benchKey() (key, allowed string, err error) {
	key, allowed = filepath.Join(b.dir, ".config", "rye", "keys", "default"), filepath.Join(b.dir, "keygen_signers")
	public, err := b.command(b.dir, "rye", "key", "export", "--public").Output()
	return key, allowed, errors.Join(err, os.WriteFile(allowed, append([]byte("bench@localhost "), public...), 0o600))
}

// renewing returns a side that changes the file before each run, unmeasured.
func renewing(path string, run side) side {
	n := 0
	return func() (cost, error) {
		n++
		if err := os.WriteFile(path, []byte(fourKiB(n)), 0o644); err != nil {
			return cost{}, err
		}
		return run()
	}
}

func signDurable(b *bench, _ int) (side, side, error) {
	dir, err := b.project(100)
	if err != nil {
		return nil, nil, err
	}
	key, _, err := b.benchKey()
	if err != nil {
		return nil, nil, err
	}
	repo := filepath.Join(b.dir, "signing")
	err = errors.Join(os.MkdirAll(repo, 0o755), b.do(repo, "git", "init", "--quiet"), os.WriteFile(filepath.Join(repo, "x.sh"), nil, 0o644), b.do(repo, "git", "add", "x.sh"))
	commit := b.process(repo, "git", "-c", "gpg.format=ssh", "-c", "user.signingkey="+key, "-c", "core.fsync=all", "-c", "gc.auto=0", "commit", "--quiet", "-S", "-a", "-m", "x")
	return renewing(filepath.Join(dir, ".ai", "tools", "acme", "durable.sh"), b.process(dir, "rye", "sign", "tool:acme/durable")),
		renewing(filepath.Join(repo, "x.sh"), commit), err
}

func signBesideKeygen(b *bench, _ int) (side, side, error) {
	dir, err := b.project(100)
	if err != nil {
		return nil, nil, err
	}
	key, _, err := b.benchKey()
	path := filepath.Join(b.dir, "keygen.sh")
	sign := b.process(b.dir, "ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", key, path)
	fresh := func() (cost, error) {
		os.Remove(path + ".sig") // ssh-keygen would ask before overwriting it
		return sign()
	}
	return renewing(filepath.Join(dir, ".ai", "tools", "acme", "beside.sh"), b.process(dir, "rye", "sign", "tool:acme/beside")), renewing(path, fresh), err
}

func verifyBesideKeygen(b *bench, _ int) (side, side, error) {
	dir, err := b.project(100)
	if err != nil {
		return nil, nil, err
	}
	key, allowed, err := b.benchKey()
	path, ours := filepath.Join(b.dir, "verified.sh"), filepath.Join(dir, ".ai", "tools", "acme", "verified.sh")
	err = errors.Join(err, os.WriteFile(path, []byte(fourKiB(0)), 0o644), os.WriteFile(ours, []byte(fourKiB(0)), 0o644),
		b.do(b.dir, "ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", key, path), b.do(dir, "rye", "sign", "tool:acme/verified"))
	theirs := func() (cost, error) {
		in, err := os.Open(path)
		if err != nil {
			return cost{}, err
		}
		defer in.Close()
		cmd := b.command(b.dir, "ssh-keygen", "-q", "-Y", "verify", "-n", "file", "-f", allowed, "-I", "bench@localhost", "-s", path+".sig")
		cmd.Stdin = in
		return b.timed(cmd)
	}
	return b.process(dir, "rye", "verify", "tool:acme/verified"), theirs, err
}

// verifyBare compares verifying every item with its bare cost: Ed25519 alone, over the messages
// of the same items, which are in memory. The time of processors matters; rye uses all of them.
func verifyBare(b *bench, n int) (side, side, error) {
	dir, err := b.project(n)
	if err != nil {
		return nil, nil, err
	}
	line, err := b.command(dir, "rye", "key", "export", "--public").Output()
	if err != nil {
		return nil, nil, err
	}
	key, err := trust.ParsePublicKey(strings.TrimSpace(string(line)))
	if err != nil {
		return nil, nil, err
	}
	type signed struct{ msg, sig []byte }
	all := make([]signed, n)
	for i := range all {
		path := "knowledge/" + entry(i) + ".md"
		raw, err := os.ReadFile(filepath.Join(dir, ".ai", filepath.FromSlash(path)))
		if err != nil {
			return nil, nil, err
		}
		it, err := objects.Parse(path, raw)
		if err != nil {
			return nil, nil, err
		}
		all[i] = signed{objects.SignedMessage(it.Ref, it.Bound(""), *it.Signature), it.Signature.Sig[:]}
	}
	theirs := inside(func() error {
		for _, s := range all {
			if !key.Verify(s.msg, s.sig) {
				return errors.New("ed25519 refuses what rye signed")
			}
		}
		return nil
	})
	return b.process(dir, "rye", "verify", "--quiet"), theirs, nil
}

// verifyAll reads and verifies every item. git fsck reads and hashes the same files in
// the store, and checks no signatures.
func verifyAll(b *bench, n int) (side, side, error) {
	dir, err := b.project(n)
	return b.process(dir, "rye", "verify", "--quiet"), b.process(dir, "git", "-C", b.store(dir), "fsck", "--full", "--strict"), err
}
