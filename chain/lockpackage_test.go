package chain

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// memberLock is a lock that pins a package, and the plan of a tool that comes with it.
func memberLock(t *testing.T) (*Lock, *Plan) {
	t.Helper()
	l, p, _ := sample(t)
	kit := objects.Ref{Kind: objects.Bundle, ID: "acme/kit"}
	delete(l.Items, tool("acme/hello"))
	author := p.Links[0].Verified.Key().Fingerprint()
	l.Items[kit] = Pin{From: "origin", Version: "2.0.0", Path: "bundles/acme/kit/rye.bundle.yaml", SHA256: objects.DigestOf([]byte("manifest")),
		Commit: strings.Repeat("4e", 20), Author: author, Publisher: objects.Fingerprint{2}, Capability: objects.DigestOf([]byte("c"))}
	p.Links[0].Origin = &Origin{Registry: "origin", Version: "2.0.0", Commit: strings.Repeat("4e", 20), Author: author,
		Publisher: objects.Fingerprint{2}, Package: kit, Manifest: objects.DigestOf([]byte("manifest"))}
	if err := l.Set(p); err != nil {
		t.Fatal(err)
	}
	return l, p
}

func TestLockPackage(t *testing.T) {
	l, p := memberLock(t)
	kit := p.Entry()
	if _, own := l.Items[p.Links[0].Ref()]; own || len(l.Items[kit].Chain) != len(p.Links)-1 {
		t.Errorf("a member has an entry of its own (%v), or its package's chain is %v", own, l.Items[kit].Chain)
	}
	if err := l.Match(p); err != nil {
		t.Fatal(err)
	}
	text, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseLock(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if again, err := back.Encode(); err != nil || !bytes.Equal(again, text) {
		t.Errorf("Encode(Parse) differs: %v", err)
	}
	for name, change := range map[string]func(*Pin){
		"registry":  func(p *Pin) { p.From = "other" },
		"version":   func(p *Pin) { p.Version = "2.0.1" },
		"commit":    func(p *Pin) { p.Commit = strings.Repeat("5f", 20) },
		"publisher": func(p *Pin) { p.Publisher = objects.Fingerprint{3} },
		"author":    func(p *Pin) { p.Author = objects.Fingerprint{3} },
		"manifest":  func(p *Pin) { p.SHA256 = objects.DigestOf([]byte("other")) },
		"chain":     func(p *Pin) { p.Chain = p.Chain[1:] },
	} {
		other := l.Clone()
		pin := other.Items[kit]
		change(&pin)
		other.Items[kit] = pin
		if err := other.Match(p); !fault.Is(err, fault.Drift) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	l.Remove(kit)
	if len(l.Items) == 0 {
		t.Error("what other tools run through went with the package")
	}
	if err := l.Match(p); !fault.Is(err, fault.Drift) {
		t.Errorf("without its package a member matches: %v", err)
	}
}

func TestLockPackageRefuses(t *testing.T) {
	l, _ := memberLock(t)
	good, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		t.Helper()
		if !strings.Contains(string(good), old) {
			t.Fatalf("%q is not in\n%s", old, good)
		}
		return strings.Replace(string(good), old, new, 1)
	}
	for name, text := range map[string]string{
		"the manifest of another":  change("bundles/acme/kit/rye", "bundles/acme/other/rye"),
		"a file of it":             change("bundles/acme/kit/rye.bundle.yaml", "bundles/acme/kit/main.sh"),
		"one of the project":       change("    from: origin\n    version: 2.0.0\n", "    space: project\n    version: 2.0.0\n"),
		"no package":               strings.ReplaceAll(string(good), "bundle:acme/kit:", "bundle:acme/tools/kit:"),
		"a member with an entry":   change("path: tools/beta/fetch.py", "path: bundles/beta/fetch/main.py"),
		"a package in the chain":   change("      - tool:rye", "      - bundle:acme/none\n      - tool:rye"),
		"the kind of no file here": strings.ReplaceAll(string(good), "bundle:acme/kit:", "bundles:acme/kit:"),
	} {
		if _, err := ParseLock([]byte(text)); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPackageDigest(t *testing.T) {
	a := &objects.Item{Ref: tool("acme/kit/a"), Meta: objects.Meta{Needs: objects.Needs{Declared: true, Net: []string{"a"}}}}
	b := &objects.Item{Ref: tool("acme/kit/b")}
	text := &objects.Item{Ref: objects.Ref{Kind: objects.Knowledge, ID: "acme/kit"}}
	was := PackageDigest([]*objects.Item{a, b})
	if PackageDigest([]*objects.Item{text, a, b}) != was {
		t.Error("what cannot do anything changes the digest")
	}
	a.Meta.Needs, b.Meta.Needs = b.Meta.Needs, a.Meta.Needs // the same together, and not the same
	if PackageDigest([]*objects.Item{a, b}) == was {
		t.Error("needs that move from one tool to another do not change the digest")
	}
	d := &objects.Item{Ref: objects.Ref{Kind: objects.Directive, ID: "acme/kit/d"}}
	without, with := PackageDigest([]*objects.Item{a, b}), PackageDigest([]*objects.Item{d, a, b})
	d.Meta.Permissions = []string{"rye.execute.tool.*"}
	if wider := PackageDigest([]*objects.Item{d, a, b}); with == without || wider == with {
		t.Error("a directive, or what it may do, does not change the digest")
	}
}
