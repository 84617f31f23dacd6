package chain

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// ryeOSText is a lock file as RYE OS writes it.
func ryeOSText(p *Plan) string {
	type link struct {
		ID        string `json:"item_id"`
		Space     string `json:"space"`
		ToolType  string `json:"tool_type"`
		Executor  any    `json:"executor_id"`
		Integrity string `json:"integrity"`
	}
	var chain []link
	for _, l := range p.Links {
		it := l.Verified.Item()
		chain = append(chain, link{string(it.Ref.ID), l.Space.String(), it.Meta.ToolType, string(it.Meta.Executor), objects.RyeOSDigest(it).Hex()})
	}
	it := p.Tool()
	text, err := json.MarshalIndent(map[string]any{
		"lockfile_version": 1, "generated_at": "2026-02-11T09:30:00.123456+00:00",
		"root":           map[string]any{"tool_id": it.Ref.ID, "version": it.Meta.Version, "integrity": objects.RyeOSDigest(it).Hex()},
		"resolved_chain": chain, "registry": nil, "verified_deps": nil,
	}, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestRyeOSLock(t *testing.T) {
	w := newWorld(t)
	w.add(objects.Project, "tools/acme/hello.sh", hello+"echo hi\n")
	p := w.plan("acme/hello")
	text := ryeOSText(p)
	l, err := ParseRyeOSLock([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Match(p); err != nil {
		t.Errorf("Match of what was locked = %v", err)
	}
	for name, change := range map[string]func(*RyeOSLock){
		"version": func(l *RyeOSLock) { l.Version = "9.9.9" },
		"content": func(l *RyeOSLock) { l.Chain[0].Sum[0] ^= 1 },
		"chain": func(l *RyeOSLock) {
			l.Chain[1] = RyeOSLink{ID: "acme/runtime", Space: objects.Project}
		},
		"longer": func(l *RyeOSLock) {
			for i := range l.Chain {
				l.Chain[i].Space, l.Chain[i].Sum = objects.Project, objects.RyeOSDigest(p.Links[i].Verified.Item())
			}
			l.Chain = append(l.Chain, RyeOSLink{ID: "acme/more", Space: objects.Project})
		},
	} {
		l, _ := ParseRyeOSLock([]byte(text))
		change(l)
		if err := l.Match(p); !fault.Is(err, fault.Drift) {
			t.Errorf("%s: Match = %v, want drift", name, err)
		}
	}
	// RYE OS's own runtimes are rye's now: nobody can have their bytes.
	l.Chain[1].Sum[0] ^= 1
	if err := l.Match(p); err != nil {
		t.Errorf("Match with another system item = %v", err)
	}
}

func TestRyeOSLockRefuses(t *testing.T) {
	w := newWorld(t)
	w.add(objects.Project, "tools/acme/hello.sh", hello+"echo hi\n")
	text := ryeOSText(w.plan("acme/hello"))
	for name, bad := range map[string]string{
		"empty":         "",
		"no object":     "[]",
		"later format":  strings.Replace(text, `"lockfile_version": 1`, `"lockfile_version": 2`, 1),
		"unknown field": strings.Replace(text, `"registry"`, `"registries"`, 1),
		"key twice":     strings.Replace(text, `"registry": null`, `"registry": null, "registry": 1`, 1),
		"id":            strings.Replace(text, `"tool_id": "acme/hello"`, `"tool_id": "../hello"`, 1),
		"other root":    strings.Replace(text, `"tool_id": "acme/hello"`, `"tool_id": "acme/other"`, 1),
		"digest":        strings.Replace(text, `"integrity": "`, `"integrity": "zz`, 1),
		"no chain":      fmt.Sprintf(`{"lockfile_version":1,"root":{"tool_id":"a","version":"1","integrity":"%064d"},"resolved_chain":[]}`, 0),
		"second value":  text + "{}",
	} {
		if l, err := ParseRyeOSLock([]byte(bad)); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %+v, %v; want malformed", name, l, err)
		}
	}
	if _, err := ParseRyeOSLock(make([]byte, MaxRyeOSLock+1)); !fault.Is(err, fault.Limit) {
		t.Errorf("too large: %v", err)
	}
}

func FuzzParseRyeOSLock(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(`{"lockfile_version":1,"generated_at":"x","root":{"tool_id":"a/b","version":"1","integrity":"%064d"},
		"resolved_chain":[{"item_id":"a/b","space":"project","tool_type":null,"executor_id":null,"integrity":"%064d"}],"registry":null,"verified_deps":null}`, 0, 0)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := ParseRyeOSLock(raw)
		if err == nil && (len(l.Chain) == 0 || l.Chain[0].ID != l.Tool) {
			t.Errorf("%q: %+v", raw, l)
		}
	})
}
