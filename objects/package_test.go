package objects_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

func TestPackageRefs(t *testing.T) {
	kit, err := objects.ParseRef("acme/bundle/kit")
	if err != nil || kit.String() != "bundle:acme/kit" || kit.Published() != "acme/bundle/kit" || kit.PackageDir() != "bundles/acme/kit" {
		t.Fatalf("acme/bundle/kit: %v %v", kit, err)
	}
	for path, want := range map[string]string{
		"bundles/acme/kit/rye.bundle.yaml":          "bundle:acme/kit",
		"bundles/acme/kit/SKILL.md":                 "knowledge:acme/kit",
		"bundles/acme/kit/tools/x.py":               "tool:acme/kit/x",
		"tools/acme/kit/rye.bundle.yaml":            "tool:acme/kit/rye.bundle", // whose id is refused
		"bundles/acme/kit/lib/rye.bundle.yaml":      "",
		"bundles/acme/rye.bundle.yaml":              "",
		"bundles/rye.bundle.yaml":                   "",
		"bundles/acme/../acme/kit/rye.bundle.yaml":  "",
		"bundles/acme/kit/../kit/rye.bundle.yaml":   "",
		"bundles/acme/kit/RYE.bundle.yaml":          "",
		"bundles/acme/kit/rye.bundle.yaml/SKILL.md": "",
	} {
		ref, err := objects.RefOfPublished(path)
		if got := ref.String(); (err == nil) != (got == want) {
			t.Errorf("RefOfPublished(%q) = %s, %v", path, got, err)
		}
	}
	for text, want := range map[string]string{"tool:acme/kit": "bundle:acme/kit", "tool:acme/kit/x/y": "bundle:acme/kit", "config:acme/kit": "",
		"config:acme/kit/x": "bundle:acme/kit", "tool:acme": "", "bundle:acme/kit": ""} {
		ref, err := objects.ParseRef(text)
		of, in := ref.Package()
		if err != nil || in != (want != "") || in && of.String() != want {
			t.Errorf("%s belongs to %v %v %v, want %q", text, of, in, err, want)
		}
	}
}

func TestCheckPackage(t *testing.T) {
	files := func(n int, size int64) *objects.Manifest {
		m := &objects.Manifest{ID: "acme/bundle/kit", Version: "1.0.0"}
		for i := range n {
			m.Files = append(m.Files, objects.File{Path: "f" + strings.Repeat("x", i%100), Size: size})
		}
		return m
	}
	nested := files(1, 1)
	nested.Files[0].Path = "sub/" + objects.ManifestName
	elsewhere := files(1, 1)
	elsewhere.ID = "acme/bundle/tools/kit"
	for name, tt := range map[string]struct {
		m    *objects.Manifest
		code fault.Code
	}{
		"good": {files(4, 16<<20), ""}, "empty": {files(0, 0), fault.Limit}, "many": {files(4097, 0), fault.Limit},
		"large file": {files(1, 16<<20+1), fault.Limit}, "large": {files(5, 16<<20), fault.Limit},
		"nested": {nested, fault.Malformed}, "no package": {elsewhere, fault.Usage},
	} {
		if err := tt.m.CheckPackage(); err == nil && tt.code != "" || err != nil && fault.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, want %q", name, err, tt.code)
		}
	}
}

func TestPackageUses(t *testing.T) {
	member := func(deps map[string]string) *objects.Item { return &objects.Item{Meta: objects.Meta{Deps: deps}} }
	run := func(id objects.ID) *objects.Item {
		return &objects.Item{Ref: objects.Ref{Kind: objects.Tool, ID: "acme/kit/t"}, Meta: objects.Meta{Executor: id}}
	}
	foreign := func(ref objects.Ref) bool { return ref.ID.Namespace() != "rye" }
	m := &objects.Manifest{ID: "acme/bundle/kit", Version: "1.0.0", Deps: map[string]string{"b/tool/said": "^2"}}
	got, err := m.Uses([]*objects.Item{run("rye/core/bash"), run("acme/kit/own"), run("b/run/lua"),
		member(map[string]string{"b/tool/x": "^1.2", "acme/tool/kit/own": "*", "b/tool/said": "1.x || 3.x"}),
		member(map[string]string{"b/tool/x": "<1.9", "b/tool/y": "*", "b/tool/said": "^1"}),
	}, foreign)
	if err != nil || len(got) != 4 || got["b/tool/run/lua"] != "*" || got["b/tool/x"] != "^1.2 <1.9" || got["b/tool/y"] != "*" || got["b/tool/said"] != "^2" {
		t.Errorf("Uses = %v, %v", got, err)
	}
	_, err = m.Uses([]*objects.Item{member(map[string]string{"b/tool/x": "1.x || 3.x"}), member(map[string]string{"b/tool/x": "^1"})}, foreign)
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("ranges that cannot be joined: %v", err)
	}
}

// TestRenewed: what was written into a manifest by hand stays when its files are listed anew.
func TestRenewed(t *testing.T) {
	var none *objects.Manifest
	m, err := none.Renewed(bundle, "acme/bundle/reports", "", false)
	if err != nil || m.Version != "0.1.0" || m.Deps != nil {
		t.Fatalf("the first manifest: %+v, %v", m, err)
	}
	m.Version, m.Deps = "2.0.0", map[string]string{"b/tool/x": "^1"}
	if m, err = m.Renewed(bundle, m.ID, "", false); err != nil || m.Version != "2.0.0" || m.Deps["b/tool/x"] != "^1" {
		t.Errorf("renewed: %+v, %v", m, err)
	}
	if m, err = m.Renewed(bundle, m.ID, "2.1.0", false); err != nil || m.Version != "2.1.0" || m.Deps["b/tool/x"] != "^1" {
		t.Errorf("renewed by its entry's version: %+v, %v", m, err)
	}
}
