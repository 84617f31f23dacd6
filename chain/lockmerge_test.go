package chain

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rye-os/rye/objects"
)

// edited returns a copy of l after f.
func edited(l *Lock, f func(*Lock)) *Lock {
	l = l.Clone()
	f(l)
	return l
}

func withPin(ref objects.Ref, change func(*Pin)) func(*Lock) {
	return func(l *Lock) {
		p := l.Items[ref]
		change(&p)
		l.Items[ref] = p
	}
}

func TestMergeLocks(t *testing.T) {
	base, _, _ := sample(t)
	hello, fetch := tool("acme/hello"), tool("beta/fetch")
	newHello := withPin(hello, func(p *Pin) { p.SHA256, p.Version = objects.DigestOf([]byte("new")), "9.0.0" })
	fetchAt := func(v string) func(*Lock) {
		return withPin(fetch, func(p *Pin) { p.Version, p.Commit = v, strings.Repeat(v[:1], 40) })
	}
	seq := func(n uint64) func(*Lock) {
		return func(l *Lock) {
			ns := l.Namespaces["beta"]
			ns.Seq, ns.SHA256 = n, objects.DigestOf([]byte{byte(n)})
			l.Namespaces["beta"] = ns
		}
	}
	pin := base.Items[hello]
	pin.Path = "tools/acme/other.sh"
	other := func(l *Lock) { l.Items[tool("acme/other")] = pin }
	drop := func(ref objects.Ref) func(*Lock) { return func(l *Lock) { delete(l.Items, ref) } }
	pdf := objects.Ref{Kind: objects.Bundle, ID: "acme/pdf"}
	from := func(commit string) func(*Lock) {
		return func(l *Lock) {
			o := l.Origins[pdf]
			o.Commit = strings.Repeat(commit, 40)
			l.Origins[pdf] = o
		}
	}
	theirsIf := func(objects.Ref, *Pin, *Pin) Side { return Theirs }
	for _, c := range []struct {
		name         string
		ours, theirs func(*Lock)
		choices      LockChoices
		want         func(*Lock) // what base becomes
		conflicts    []string    // entries
	}{
		{"one side changed", newHello, func(*Lock) {}, LockChoices{}, newHello, nil},
		{"the other side changed", func(*Lock) {}, newHello, LockChoices{}, newHello, nil},
		{"both the same", newHello, newHello, LockChoices{}, newHello, nil},
		{"both, different entries", newHello, other, LockChoices{}, func(l *Lock) { newHello(l); other(l) }, nil},
		{"both changed one", newHello, withPin(hello, func(p *Pin) { p.Version = "8.0.0" }), LockChoices{}, nil, []string{"tool:acme/hello"}},
		{"both changed one, the choice decides", withPin(hello, func(p *Pin) { p.Version = "8.0.0" }), newHello, LockChoices{Item: theirsIf}, newHello, nil},
		{"both changed one, preferred", newHello, withPin(hello, func(p *Pin) { p.Version = "8.0.0" }), LockChoices{Rest: Ours}, newHello, nil},
		{"removed against changed", drop(hello), newHello, LockChoices{}, nil, []string{"tool:acme/hello"}},
		{"removed against untouched", drop(hello), func(*Lock) {}, LockChoices{}, drop(hello), nil},
		{"the later version of a registry", fetchAt("2.0.0"), fetchAt("1.10.0"), LockChoices{}, fetchAt("2.0.0"), nil},
		{"the later version is theirs", fetchAt("1.9.0"), fetchAt("1.10.0"), LockChoices{}, fetchAt("1.10.0"), nil},
		{"versions of two registries", fetchAt("2.0.0"), func(l *Lock) {
			l.Registries["fork"] = RegistryPin{objects.DigestOf([]byte("fork")), "https://fork.example"}
			fetchAt("3.0.0")(l)
			withPin(fetch, func(p *Pin) { p.From = "fork" })(l)
		}, LockChoices{}, nil, []string{"tool:beta/fetch"}},
		{"the later position", seq(50), seq(60), LockChoices{}, seq(60), nil},
		{"a fork of a log", seq(50), func(l *Lock) {
			seq(50)(l)
			ns := l.Namespaces["beta"]
			ns.SHA256 = objects.DigestOf([]byte("another tip"))
			l.Namespaces["beta"] = ns
		}, LockChoices{}, nil, []string{"namespace beta"}},
		{"a registry at two addresses", func(l *Lock) { l.Registries["origin"] = RegistryPin{base.Registries["origin"].ID, "https://a.example"} },
			func(l *Lock) { l.Registries["origin"] = RegistryPin{base.Registries["origin"].ID, "https://b.example"} }, LockChoices{},
			func(l *Lock) { l.Registries["origin"] = RegistryPin{base.Registries["origin"].ID, "https://a.example"} }, nil},
		{"two registries of one name", func(l *Lock) {
			l.Registries["origin"] = RegistryPin{objects.DigestOf([]byte("x")), "https://a.example"}
		},
			func(l *Lock) {
				l.Registries["origin"] = RegistryPin{objects.DigestOf([]byte("y")), "https://a.example"}
			}, LockChoices{}, nil, []string{"registry origin"}},
		{"an origin that one side changed", from("1"), func(*Lock) {}, LockChoices{}, from("1"), nil},
		{"an origin that both changed is left out", from("1"), from("2"), LockChoices{}, func(l *Lock) { delete(l.Origins, pdf) }, nil},
		{"an origin that the manifest decides", from("1"), from("2"), LockChoices{Origin: func(objects.Ref, *OriginPin, *OriginPin) Side { return Theirs }}, from("2"), nil},
		{"an origin, preferred", from("1"), from("2"), LockChoices{Rest: Ours}, from("1"), nil},
		{"an origin removed against changed", func(l *Lock) { delete(l.Origins, pdf) }, from("2"), LockChoices{}, func(l *Lock) { delete(l.Origins, pdf) }, nil},
		{"what a kept chain needs comes back", func(l *Lock) { drop(hello)(l); drop(fetch)(l); drop(tool("rye/core/runtimes/bash_runtime"))(l) }, other, LockChoices{},
			func(l *Lock) { drop(hello)(l); drop(fetch)(l); other(l) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, conflicts := MergeLocks(base, edited(base, c.ours), edited(base, c.theirs), c.choices)
			var names []string
			for _, cf := range conflicts {
				names = append(names, cf.Entry)
			}
			if !slices.Equal(names, c.conflicts) {
				t.Fatalf("conflicts %v, want %v", conflicts, c.conflicts)
			}
			if c.want == nil {
				return
			}
			if want := edited(base, c.want); !reflect.DeepEqual(got, want) {
				t.Errorf("merged\n%+v\nwant\n%+v", got, want)
			}
			text, err := got.Encode()
			if err == nil {
				_, err = ParseLock(text)
			}
			if err != nil {
				t.Errorf("the merged lock: %v", err)
			}
		})
	}
}

// The library and its items go together: half of one and half of another runs nothing.
func TestMergeLocksKeepsALibraryWhole(t *testing.T) {
	base, _, _ := sample(t)
	release := func(name string) func(*Lock) {
		return func(l *Lock) {
			l.Stdlib = &StdlibPin{Version: name, Manifest: objects.DigestOf([]byte(name)), Commit: strings.Repeat("ab", 20)}
			for ref, p := range l.Items {
				if p.Space == objects.System {
					p.SHA256 = objects.DigestOf([]byte(name + ref.String()))
					l.Items[ref] = p
				}
			}
		}
	}
	a, b := edited(base, release("a")), edited(base, release("b"))
	if _, conflicts := MergeLocks(base, a, b, LockChoices{}); len(conflicts) < 3 {
		t.Errorf("conflicts %v, want the library and each of its items", conflicts)
	}
	for side, want := range map[Side]*Lock{Ours: a, Theirs: b} {
		got, conflicts := MergeLocks(base, a, b, LockChoices{Stdlib: func(StdlibPin, StdlibPin) Side { return side }})
		if len(conflicts) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("side %d: %v, %v", side, got, conflicts)
		}
	}
}

func TestMergeLocksLaws(t *testing.T) {
	full, _, _ := sample(t)
	pdf := objects.Ref{Kind: objects.Bundle, ID: "acme/pdf"}
	refs := slices.SortedFunc(maps.Keys(full.Items), func(a, b objects.Ref) int { return cmp.Compare(a.String(), b.String()) })
	draw := func(rt *rapid.T, name string) *Lock {
		return edited(full, func(l *Lock) {
			for _, ref := range refs {
				switch rapid.IntRange(0, 5).Draw(rt, name+ref.String()) {
				case 0:
					if len(l.Items[ref].Chain) > 0 {
						delete(l.Items, ref)
					}
				case 1:
					withPin(ref, func(p *Pin) { p.SHA256 = objects.DigestOf([]byte("one")) })(l)
				case 2:
					withPin(ref, func(p *Pin) { p.SHA256 = objects.DigestOf([]byte("two")) })(l)
				}
			}
			l.Origins = map[objects.Ref]OriginPin{}
			if n := rapid.IntRange(0, 2).Draw(rt, name+" origin"); n > 0 {
				l.Origins[pdf] = OriginPin{Source: "https://example.com/x", Path: strings.Repeat("x", n)}
			}
		})
	}
	rapid.Check(t, func(rt *rapid.T) {
		base, a, b := draw(rt, "base"), draw(rt, "a"), draw(rt, "b")
		if got, cs := MergeLocks(base, a, base, LockChoices{}); len(cs) > 0 || !reflect.DeepEqual(got, a) {
			rt.Fatalf("merge with the unchanged base: %v %v", got, cs)
		}
		if got, cs := MergeLocks(base, a, a, LockChoices{}); len(cs) > 0 || !reflect.DeepEqual(got, a) {
			rt.Fatalf("merge with itself: %v %v", got, cs)
		}
		ab, cab := MergeLocks(base, a, b, LockChoices{})
		ba, cba := MergeLocks(base, b, a, LockChoices{})
		if len(cab) != len(cba) || len(cab) == 0 && !reflect.DeepEqual(ab, ba) {
			rt.Fatalf("merge is not symmetric: %v %v", cab, cba)
		}
		for ref, pin := range ab.Items {
			if !reflect.DeepEqual(pin, a.Items[ref]) && !reflect.DeepEqual(pin, b.Items[ref]) && !reflect.DeepEqual(pin, base.Items[ref]) {
				rt.Fatalf("%s: %+v is of neither side", ref, pin)
			}
		}
		for ref, o := range ab.Origins {
			if o != a.Origins[ref] && o != b.Origins[ref] {
				rt.Fatalf("the origin of %s: %+v is of neither side", ref, o)
			}
		}
	})
}

func TestConflicted(t *testing.T) {
	l, _, _ := sample(t)
	text, _ := l.Encode()
	shown := ShowConflict(nil, text, text)
	if Conflicted(text) || !Conflicted(shown) || !Conflicted(append([]byte("lock: 1\n"), shown...)) {
		t.Error("Conflicted")
	}
	if _, err := ParseLock(shown); err == nil {
		t.Error("a lock with markers was read")
	}
}
