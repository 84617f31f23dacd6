package chain

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// sample is a lock with everything that one can hold.
func sample(t testing.TB) (*Lock, *Plan, *world) {
	t.Helper()
	w := newWorld(t)
	w.add(objects.Project, "tools/acme/hello.sh", hello+"echo hi\n")
	p := w.plan("acme/hello")
	l := &Lock{
		Stdlib:     &StdlibPin{Version: "0.1.0", Manifest: objects.DigestOf([]byte("m")), Commit: strings.Repeat("0a", 20)},
		Registries: map[string]RegistryPin{"origin": {ID: objects.DigestOf([]byte("r")), URL: "https://git.example.com/registry.git"}},
		Namespaces: map[string]NamespacePin{"beta": {Registry: "origin", Seq: 41, Tip: strings.Repeat("1b", 20), SHA256: objects.DigestOf([]byte("t"))}},
	}
	if err := l.Set(p); err != nil {
		t.Fatal(err)
	}
	l.Items[tool("beta/fetch")] = Pin{From: "origin", Version: "1.4.0", Path: "tools/beta/fetch.py", SHA256: objects.DigestOf([]byte("f")),
		Blob: strings.Repeat("2c", 20), Commit: strings.Repeat("3d", 20), Author: objects.Fingerprint{1}, Publisher: objects.Fingerprint{2},
		Needs: &objects.Needs{Declared: true, Net: []string{"api.example.com:443"}}, Capability: objects.DigestOf([]byte("c")),
		Chain: entries(p)}
	l.Origins = map[objects.Ref]OriginPin{{Kind: objects.Bundle, ID: "acme/pdf"}: {Source: "https://github.com/ada/skills", Ref: "refs/heads/main",
		Commit: strings.Repeat("4e", 20), Path: "skills/pdf", TreeSHA256: objects.DigestOf([]byte("tree"))}}
	return l, p, w
}

func TestLockIsItsText(t *testing.T) {
	l, _, _ := sample(t)
	text, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseLock(text)
	if err != nil {
		t.Fatalf("ParseLock: %v\n%s", err, text)
	}
	again, err := back.Encode()
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("Encode(Parse) differs: %v\n%s\n%s", err, text, again)
	}
	if empty, err := (&Lock{}).Encode(); err != nil || string(empty) != "lock: 1\n" {
		t.Errorf("empty lock %q, %v", empty, err)
	}
	pin := l.Items[tool("beta/fetch")]
	pin.Needs.Listen = []string{"5173", "8080"}
	pin.Needs.Rye = []string{"rye.execute.tool.beta.*", "rye.load.tool.beta.x"}
	if text, err = l.Encode(); err == nil {
		back, err = ParseLock(text)
	}
	if err != nil || !slices.Equal(back.Items[tool("beta/fetch")].Needs.Rye, pin.Needs.Rye) || !slices.Equal(back.Items[tool("beta/fetch")].Needs.Listen, pin.Needs.Listen) {
		t.Errorf("what a tool calls rye for: %v\n%s", err, text)
	}
	none := bytes.Replace(text, []byte("      rye:\n        - \"rye.execute.tool.beta.*\"\n        - rye.load.tool.beta.x\n"), []byte("      rye: []\n"), 1)
	if _, err := ParseLock(none); err == nil || bytes.Equal(none, text) {
		t.Errorf("nothing is written as no line at all\n%s", none)
	}
	if back.Items[tool("beta/fetch")].From == "" {
		t.Errorf("beta/fetch came back as %v, want the pin of a registry's item", back.Items[tool("beta/fetch")])
	}
}

// The golden file is the example of docs/format/lock.md.
func TestLockExample(t *testing.T) {
	doc, err := os.ReadFile("../docs/format/lock.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "```yaml\n")
	text, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("docs/format/lock.md holds no example")
	}
	if _, err := ParseLock([]byte(text)); err != nil {
		t.Errorf("the example of docs/format/lock.md: %v", err)
	}
}

func TestLockRefuses(t *testing.T) {
	l, _, _ := sample(t)
	good, _ := l.Encode()
	change := func(old, new string) string {
		t.Helper()
		if !strings.Contains(string(good), old) {
			t.Fatalf("%q is not in the sample\n%s", old, good)
		}
		return strings.Replace(string(good), old, new, 1)
	}
	for name, text := range map[string]string{
		"empty":             "",
		"no version":        "items: {}\n",
		"version 0":         "lock: 0\n",
		"newer":             "lock: 2\nfuture: {}\n",
		"unknown field":     change("stdlib:\n", "stdlib:\n  extra: 1\n"),
		"order":             change("lock: 1\n", "lock: 1\n# a comment\n"),
		"second document":   string(good) + "---\nlock: 1\n",
		"upper-case digest": strings.ToUpper(string(good[:7])) + string(good[7:]),
		"bad digest":        change("sha256: ", "sha256: x"),
		"path elsewhere":    change("path: tools/acme/hello.sh", "path: tools/acme/other.sh"),
		"path that leaves":  change("path: tools/acme/hello.sh", "path: ../tools/acme/hello.sh"),
		"user space":        change("space: project", "space: user"),
		"no space":          change("    space: project\n", ""),
		"unknown registry":  change("from: origin", "from: other"),
		"no commit":         change("    commit: "+strings.Repeat("3d", 20)+"\n", ""),
		"short commit":      change(strings.Repeat("3d", 20), "3d"),
		"chain not locked":  change("- tool:rye/core/runtimes/bash_runtime", "- tool:rye/core/runtimes/other"),
		"registry name":     change("  origin:\n", "  ../x:\n"),
		"origin of a tool":  change("  bundle:acme/pdf:\n", "  tool:acme/pdf:\n"),
		"origin by another": change("  bundle:acme/pdf:\n", "  bundle:acme/pdf:\n    signer: x\n"),
		"origin without":    change("    source: https://github.com/ada/skills\n", ""),
		"origin's password": change("source: https://github.com", "source: \"https://ada:secret@github.com"),
		"origin's ref":      change("refs/heads/main", "refs/pull/1/head"),
		"origin's path":     change("path: skills/pdf", "path: ../../etc"),
		"origin's commit":   change(strings.Repeat("4e", 20), "HEAD"),
		"origin's digest":   change("tree_sha256: ", "tree_sha256: x"),
		"origins first":     change("lock: 1\n", "lock: 1\norigins:\n  bundle:acme/x:\n    source: a:b\n    tree_sha256: "+strings.Repeat("0a", 32)+"\n"),
		"missing newline":   strings.TrimSuffix(string(good), "\n"),
		"CRLF":              strings.ReplaceAll(string(good), "\n", "\r\n"),
	} {
		if _, err := ParseLock([]byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		} else if !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v (%s), want malformed", name, err, fault.CodeOf(err))
		}
	}
}

func TestMatchNamesWhatMoved(t *testing.T) {
	l, p, w := sample(t)
	if err := l.Match(p); err != nil {
		t.Fatal(err)
	}
	ref := tool("acme/hello")
	moved := func(change func(*Lock)) *Lock {
		m := l.Clone()
		change(m)
		return m
	}
	edit := func(ref objects.Ref, f func(*Pin)) func(*Lock) {
		return func(l *Lock) { pin := l.Items[ref]; f(&pin); l.Items[ref] = pin }
	}
	runtime := tool("rye/core/runtimes/bash_runtime")
	for name, tc := range map[string]struct {
		lock  *Lock
		pin   objects.Ref
		field string
	}{
		"not locked":      {moved(func(l *Lock) { delete(l.Items, ref) }), ref, "item"},
		"link not locked": {moved(func(l *Lock) { delete(l.Items, runtime) }), runtime, "item"},
		"content":         {moved(edit(ref, func(p *Pin) { p.SHA256[0] ^= 1 })), ref, "sha256"},
		"runtime content": {moved(edit(runtime, func(p *Pin) { p.SHA256[0] ^= 1 })), runtime, "sha256"},
		"version":         {moved(edit(ref, func(p *Pin) { p.Version = "9.9.9" })), ref, "version"},
		"space":           {moved(edit(runtime, func(p *Pin) { p.Space = objects.Project })), runtime, "space"},
		"origin":          {moved(edit(ref, func(p *Pin) { p.From = "origin" })), ref, "from"},
		"path":            {moved(edit(ref, func(p *Pin) { p.Path = "tools/acme/hello.bash" })), ref, "path"},
		"chain":           {moved(edit(ref, func(p *Pin) { p.Chain = p.Chain[:1] })), ref, "chain"},
	} {
		err := tc.lock.Match(p)
		var d *DriftError
		if !errors.As(err, &d) || !fault.Is(err, fault.Drift) || d.Pin != tc.pin || d.Field != tc.field || fault.HintOf(err).IsZero() {
			t.Errorf("%s: Match = %v (%+v)", name, err, d)
		}
	}
	// A runtime in the project, in front of the standard library's, is drift.
	path, text := yamlTool("acme/hello2", "rye/core/runtimes/bash_runtime", "config: {command: 'echo'}")
	w.add(objects.Project, path, text)
	p2 := w.plan("acme/hello2")
	if err := l.Set(p2); err != nil {
		t.Fatal(err)
	}
	p2.Links[1].Space = objects.Project
	if err := l.Match(p2); !fault.Is(err, fault.Drift) {
		t.Errorf("shadowed runtime: %v", err)
	}
}

// RYE OS's lock did not cover the modules that a tool imports.
func TestLockCoversWhatAToolLoads(t *testing.T) {
	l, p, _ := sample(t)
	src := func(path, text string) Source {
		return Source{Path: path, Data: []byte(text), Sum: objects.DigestOf([]byte(text))}
	}
	p.Around = []Source{src("tools/acme/b.py", "b"), src("tools/acme/a.py", "a")}
	if err := l.Match(p); !fault.Is(err, fault.Drift) {
		t.Errorf("files came: %v", err)
	}
	if err := l.Set(p); err != nil {
		t.Fatal(err)
	}
	text, _ := l.Encode()
	l, err := ParseLock(text)
	if err != nil {
		t.Fatal(err)
	}
	p.Around[0], p.Around[1] = p.Around[1], p.Around[0]
	if err := l.Match(p); err != nil {
		t.Errorf("in another order: %v", err)
	}
	p.Around[0] = src("tools/acme/a.py", "evil")
	if err := l.Match(p); !fault.Is(err, fault.Drift) {
		t.Errorf("changed: %v", err)
	}
}

func TestLockSetAndRemove(t *testing.T) {
	l, p, w := sample(t)
	delete(l.Items, tool("beta/fetch"))
	l.Remove(p.Tool().Ref)
	if len(l.Items) != 0 {
		t.Errorf("left in the lock: %v", l.Items)
	}
	path, text := yamlTool("acme/mine", "rye/core/runtimes/bash_runtime", "config: {command: 'echo'}")
	w.add(objects.User, path, text)
	if err := l.Set(w.plan("acme/mine")); !fault.Is(err, fault.Denied) || !strings.Contains(fault.HintOf(err).String(), "rye add") {
		t.Errorf("a user item was locked: %v", err)
	}
	if len(l.Items) != 0 {
		t.Errorf("a refused Set left %v", l.Items)
	}
}

// What another pinned tool runs by stays when a tool is removed.
func TestLockRemoveKeepsSharedLinks(t *testing.T) {
	l, p, w := sample(t)
	delete(l.Items, tool("beta/fetch"))
	w.add(objects.Project, "tools/acme/other.sh", hello+"echo other\n")
	if err := l.Set(w.plan("acme/other")); err != nil {
		t.Fatal(err)
	}
	want := len(l.Items) - 1
	l.Remove(tool("acme/other"))
	for _, link := range p.Links {
		if _, ok := l.Items[link.Ref()]; !ok {
			t.Errorf("%s is not pinned any more, and %s needs it", link.Ref(), p.Tool().Ref)
		}
	}
	if len(l.Items) != want {
		t.Errorf("%d items are left, want %d: %v", len(l.Items), want, l.Items)
	}
}

// The chain of a kept pin stays pinned: a lock without it could not be read.
func TestDropOwnKeepsChains(t *testing.T) {
	l, p, w := sample(t)
	w.add(objects.Project, "tools/acme/other.sh", hello+"echo other\n")
	if err := l.Set(w.plan("acme/other")); err != nil {
		t.Fatal(err)
	}
	l.DropOwn(map[objects.Ref]bool{p.Tool().Ref: true})
	if _, ok := l.Items[tool("acme/other")]; ok {
		t.Error("tool:acme/other is still pinned")
	}
	raw, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseLock(raw); err != nil {
		t.Errorf("the rest cannot be read: %v\n%s", err, raw)
	}
	l.DropOwn(nil)
	if raw, err = l.Encode(); err != nil {
		t.Fatal(err)
	}
	if _, err := ParseLock(raw); err != nil {
		t.Errorf("the registry's items alone cannot be read: %v\n%s", err, raw)
	}
}

// A runtime of the user space cannot be pinned, even for a tool of the project.
func TestLockRefusesRuntimeOfTheUserSpace(t *testing.T) {
	w := newWorld(t)
	path, text := yamlTool("acme/runtime", "rye/core/runtimes/bash_runtime", "config: {command: 'echo'}")
	w.add(objects.User, path, text)
	w.add(objects.Project, "tools/acme/mine.sh", strings.ReplaceAll(hello, "rye/core/runtimes/bash_runtime", "acme/runtime")+"echo hi\n")
	l := &Lock{}
	err := l.Set(w.plan("acme/mine"))
	if !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "acme/runtime") {
		t.Errorf("Set = %v, want denied because of the runtime", err)
	}
	if len(l.Items) != 0 {
		t.Errorf("a refused Set left %v", l.Items)
	}
}

func TestCapabilityDigest(t *testing.T) {
	w := newWorld(t)
	sum := func(id, more string) objects.Digest {
		path, text := yamlTool(id, string(Subprocess), "config: {command: /bin/true}\n"+more)
		return CapabilityDigest(w.add(objects.Project, path, text).Verified.Item())
	}
	silent, none := sum("acme/a", ""), sum("acme/b", "needs: {}")
	if silent == none {
		t.Error("silence and nothing are different needs")
	}
	if sum("acme/c", "needs: {read: [a, b]}") != sum("acme/d", "needs: {read: [b, a]}") {
		t.Error("order counts")
	}
	if sum("acme/g", "needs: {rye: [rye.load.*]}") == none {
		t.Error("to call rye back is a need")
	}
	if sum("acme/e", "needs: {net: [x]}") == sum("acme/f", "needs: {net: [y]}") {
		t.Error("hosts do not count")
	}
}

func FuzzParseLock(f *testing.F) {
	l, _, _ := sample(f)
	text, _ := l.Encode()
	f.Add(text)
	f.Add([]byte("lock: 1\n"))
	f.Add([]byte("lock: 1\nitems:\n  tool:a/b:\n    space: project\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := ParseLock(raw)
		if err != nil {
			return
		}
		if again, err := l.Encode(); err != nil || !bytes.Equal(again, raw) {
			t.Errorf("ParseLock(%q) encodes as %q, %v", raw, again, err)
		}
	})
}

func BenchmarkParseLock1000(b *testing.B) {
	l := &Lock{Registries: map[string]RegistryPin{}, Namespaces: map[string]NamespacePin{}, Items: map[objects.Ref]Pin{}}
	for i := range 1000 {
		ref := objects.Ref{Kind: objects.Knowledge, ID: objects.ID(fmt.Sprintf("acme/k%04d", i))}
		l.Items[ref] = Pin{Space: objects.Project, Version: "1.0.0", Path: ref.Path(".md"), SHA256: objects.DigestOf([]byte(ref.ID)), Blob: strings.Repeat("ab", 20)}
	}
	raw, err := l.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := ParseLock(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// What the file means to rye it means to any reader of YAML.
func TestQuotedAsYAMLReads(t *testing.T) {
	for _, s := range []string{"1.0.0", "1.0", "10", "0x1f", "0b11", "1e5", "1_000", "12:30", "2026-01-02", "2026-01-02T00:00:00Z", "yes", "Null", "~", "a: b", "a:", "-x", "*",
		"", " a", "a ", "#a", "a#b", "[]", "{}", "\"q\"", "tab\there", "é", "https://example.org/a.git", "/srv/tools.git", "git@example.org:a", "SHA256:+/abc", "00", ".5", "5.", "1.2.3-rc.1", "0o7", "+1", "NaN"} {
		var got struct{ V any }
		if err := objects.DecodeYAML([]byte("v: "+quote(s)+"\n"), 1<<10, &got); err != nil || got.V != s {
			t.Errorf("%q written as %s reads as %#v, %v", s, quote(s), got.V, err)
		}
	}
}
