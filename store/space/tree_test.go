package space_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// plant writes and records the files of a tree: "+p" is a signed item, "+p=text" one with that
// text, in which _ is a blank and ; a line end, "-p" one that
// changed after it was signed, "p/" the manifest of the bundle in p, "p=text" a file with that text, and "p" an item without a signature.
func (w *world) plant(files string) {
	w.t.Helper()
	var changes []store.Change
	put := func(p string, raw []byte) {
		w.write(w.project, p, raw)
		changes = append(changes, store.Change{Path: p, Data: raw})
	}
	for _, f := range strings.Fields(files) {
		p, text, plain := strings.Cut(f, "=")
		signed, sign := strings.CutPrefix(f, "+")
		broken, changed := strings.CutPrefix(f, "-")
		dir, bundle := strings.CutSuffix(f, "/")
		text = strings.NewReplacer("_", " ", ";", "\n").Replace(text)
		switch {
		case plain && sign:
			p = strings.TrimPrefix(p, "+")
			put(p, w.sign(w.project, p, []byte(text)))
		case plain:
			put(p, []byte(text))
		case sign:
			put(signed, w.sign(w.project, signed, script(signed)))
		case bundle:
			put(dir+"/"+objects.ManifestName, w.manifest(dir))
		case changed:
			put(broken, append(w.sign(w.project, broken, script(broken)), "id\n"...))
		default:
			put(f, script(f))
		}
	}
	w.record(w.project, changes...)
}

// script is a tool for its path, unsigned.
func script(p string) []byte {
	category := strings.TrimPrefix(path.Dir(p), "tools/")
	return []byte(strings.Replace(string(body("1.0.0", "x")), "category: acme", "category: "+category, 1))
}

// manifest signs what lies in a directory.
func (w *world) manifest(dir string) []byte {
	w.t.Helper()
	id, err := objects.BundleID(dir)
	w.must(err)
	m, err := objects.ManifestOf(os.DirFS(filepath.Join(w.project.Dir, filepath.FromSlash(dir))), id, "1.0.0")
	w.must(err)
	raw, err := m.Encode()
	w.must(err)
	raw, err = trust.SignManifest(w.t.Context(), w.key, raw, trust.Scope{Space: objects.Project, Project: genesis}, w.clock)
	w.must(err)
	return raw
}

// TestAroundInBothTrees gives the same trees to the rule as files and as a record: which
// files a tool can load must not depend on where they are read.
func TestAroundInBothTrees(t *testing.T) {
	const own = "tools/acme/pack/tool.sh"
	pack := chain.Deps{Dir: "tools/acme/pack", Recursive: true}
	flat, shells := chain.Deps{Dir: "tools/acme/pack"}, chain.Deps{Dir: "tools/acme/pack", Recursive: true, Extensions: []string{".sh"}}
	markers, parent := pack, chain.Deps{Dir: "tools/acme", Recursive: true}
	markers.Markers = []string{"mark.sh"}
	without := pack
	without.Exclude = []string{"old"}
	for _, c := range []struct {
		name, files string
		deps        chain.Deps
		want        string // the paths, * after what is executable; or the code of the refusal
	}{
		{"a tool alone", "+" + own, chain.Deps{}, ""},
		{"a tool alone, with a rule", "+" + own, pack, ""},
		{"files that no rule covers", "+" + own + " +tools/acme/pack/a.sh", chain.Deps{}, ""},
		{"items beside and below", "+" + own + " +tools/acme/pack/a.sh +tools/acme/pack/sub/b.sh", pack, "tools/acme/pack/a.sh* tools/acme/pack/sub/b.sh*"},
		{"not recursive", "+" + own + " +tools/acme/pack/a.sh +tools/acme/pack/sub/b.sh", flat, "tools/acme/pack/a.sh*"},
		{"an excluded directory", "+" + own + " tools/acme/pack/sub/old/b.sh", without, ""},
		{"an unsigned item beside", "+" + own + " tools/acme/pack/a.sh", pack, "untrusted"},
		{"a foreign file beside", "+" + own + " tools/acme/pack/README.txt=x", pack, "usage"},
		{"a foreign file of another extension", "+" + own + " tools/acme/pack/README.txt=x", shells, ""},
		{"without the marker", "+" + own + " tools/acme/pack/a.sh", markers, ""},
		{"with the marker", "+" + own + " +tools/acme/pack/mark.sh", markers, "tools/acme/pack/mark.sh*"},
		{"a marker further below", "+" + own + " +tools/acme/pack/sub/mark.sh", markers, ""},
		{"what editors leave", "+" + own + " tools/acme/pack/.a.sh=x tools/acme/pack/__pycache__/b.sh=x", pack, ""},
		{"a bundle", own + " tools/acme/pack/DATA.txt=x tools/acme/pack/sub/b.sh tools/acme/pack/", chain.Deps{}, "tools/acme/pack/DATA.txt tools/acme/pack/sub/b.sh*"},
		{"a bundle and a rule", own + " tools/acme/pack/DATA.txt=x tools/acme/pack/", pack, "tools/acme/pack/DATA.txt"},
		{"a file that is in no manifest", own + " tools/acme/pack/ tools/acme/pack/b.sh", chain.Deps{}, "integrity"},
		{"a file that the manifest lists otherwise", own + " tools/acme/pack/b.txt=x tools/acme/pack/ tools/acme/pack/b.txt=y", chain.Deps{}, "integrity"},
		{"an item with a line of its own in a bundle", own + " +tools/acme/pack/b.sh tools/acme/pack/", chain.Deps{}, "tools/acme/pack/b.sh*"},
		{"an item with a line that does not hold", own + " -tools/acme/pack/b.sh tools/acme/pack/", chain.Deps{}, "integrity"},
		{"such an item in another bundle", "+" + own + " -tools/acme/pack/in/b.sh tools/acme/pack/in/", pack, "integrity"},
		{"another bundle below", "+" + own + " tools/acme/pack/in/DATA.txt=x tools/acme/pack/in/run.sh tools/acme/pack/in/", pack, "tools/acme/pack/in/DATA.txt tools/acme/pack/in/run.sh*"},
		{"another bundle, changed", "+" + own + " tools/acme/pack/in/b.txt=x tools/acme/pack/in/ tools/acme/pack/in/b.txt=y", pack, "integrity"},
		{"a part that the text names", "+" + own + "=.lib.sh; +tools/acme/pack/lib.sh=x", chain.Deps{}, "tools/acme/pack/lib.sh"},
		{"a part that a part names", "+" + own + "=.lib.sh; +tools/acme/pack/lib.sh=.more.sh; +tools/acme/pack/more.sh=x", chain.Deps{}, "tools/acme/pack/lib.sh tools/acme/pack/more.sh"},
		{"a part below", "+" + own + "=.in/lib.sh; +tools/acme/pack/in/lib.sh=x +tools/acme/pack/in/rest.sh=x", chain.Deps{}, "tools/acme/pack/in/lib.sh"},
		{"files that no text names, unsigned", "+" + own + "=echo; tools/acme/pack/lib.sh=x tools/acme/pack/in/lib.sh=x", chain.Deps{}, ""},
		{"a longer name", "+" + own + "=.mylib.sh_lib.sh2; tools/acme/pack/lib.sh=x", chain.Deps{}, ""},
		{"a part above", "+" + own + "=../lib.sh; tools/acme/lib.sh=x", chain.Deps{}, ""},
		{"an unsigned part", "+" + own + "=.lib.sh; tools/acme/pack/lib.sh=x", chain.Deps{}, "untrusted"},
		{"a part and a rule that covers it", "+" + own + "=.lib.sh; +tools/acme/pack/lib.sh=x", pack, "tools/acme/pack/lib.sh"},
		{"a type that cannot be signed", "+" + own + "=.data.json; tools/acme/pack/data.json={}", chain.Deps{}, ""},
		{"a bundle and what is beside it", own + " tools/acme/pack/ +tools/acme/a.sh", parent, "tools/acme/a.sh*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.plant(c.files)
			s := w.stack()
			check := func(where string, tree chain.Tree) {
				t.Helper()
				tool, err := tree.Item(t.Context(), own)
				var found []chain.Source
				if err == nil {
					found, err = chain.Around(t.Context(), tree, tool, c.deps)
				}
				if got := told(found, err); got != c.want {
					t.Errorf("%s: Around = %q, want %q", where, got, c.want)
				}
			}
			check("working tree", space.Working(s, s.Project))
			raw, err := s.Project.Read(own)
			w.must(err)
			w.must(os.RemoveAll(filepath.Join(w.project.Dir, "tools")))
			snapshots := 0
			w.must(s.Snapshots(t.Context(), s.Project, own, s.Project.BlobID(raw), func(sn *space.Snapshot) error {
				snapshots++
				check("record", sn)
				return fs.SkipAll
			}))
			if snapshots != 1 {
				t.Errorf("%d records hold the tool, want 1", snapshots)
			}
		})
	}
}

// told writes down what Around returned.
func told(files []chain.Source, err error) string {
	if err != nil {
		return string(fault.CodeOf(err))
	}
	var all []string
	for _, f := range files {
		p := f.Path
		if f.Exec {
			p += "*"
		}
		all = append(all, p)
		if f.Sum != objects.DigestOf(f.Data) {
			return "a wrong digest of " + f.Path
		}
	}
	return strings.Join(all, " ")
}
