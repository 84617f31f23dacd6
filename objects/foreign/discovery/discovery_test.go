package discovery_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/objects/foreign/discovery"
)

const at = "https://example.org/docs/.well-known/agent-skills/index.json"

var sum = objects.DigestOf([]byte("x")).String()

// one is an index of 0.2.0 with these entries.
func one(entries ...string) string {
	return `{"$schema":"` + discovery.Schema + `","future":1,"skills":[` + strings.Join(entries, ",") + `]}`
}

func line(name, kind, ref string) string {
	return fmt.Sprintf(`{"name":%q,"type":%q,"description":"d","url":%q,"digest":%q,"extra":true}`, name, kind, ref, sum)
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // name type url, or name: why
		code       fault.Code
	}{
		{"0.2.0", one(line("tide", "archive", "tide.tar.gz"), line("pdf", "skill-md", "/x/SKILL.md"), line("cdn", "archive", "https://cdn.example.org/a/../b.zip?k=1#f"), line("up", "archive", "../../u.zip"), line("net", "archive", "//other.example.org/n.zip")),
			[]string{"tide archive https://example.org/docs/.well-known/agent-skills/tide.tar.gz", "pdf skill-md https://example.org/x/SKILL.md",
				"cdn archive https://cdn.example.org/b.zip?k=1", "up archive https://example.org/docs/u.zip", "net archive https://other.example.org/n.zip"}, ""},
		{"passed over", one(line("wasm", "wasm", "a.wasm"), line("Tide", "archive", "a"), line("a--b", "archive", "a"), line("-a", "archive", "a"), line("ok", "archive", "a.zip"),
			line("twice", "archive", "a"), line("twice", "archive", "b"), line("file", "archive", "file:///etc/passwd"), line("js", "skill-md", "javascript:alert(1)"), line("cred", "archive", "https://u:p@example.org/a"),
			line("plain", "archive", "http://example.org/a"), line("back", "archive", `a\b`), line("none", "archive", ""), `{"name":"nodigest","type":"archive","url":"a","digest":"sha256:1"}`, `7`, `{"name":["x"]}`),
			[]string{"ok archive https://example.org/docs/.well-known/agent-skills/a.zip",
				`wasm: its type wasm is unknown to this rye []`, "Tide: its name is none by the rules of Agent Skills [malformed]", "a--b: its name is none by the rules of Agent Skills [malformed]", "-a: its name is none by the rules of Agent Skills [malformed]",
				"twice: the index has more than one skill of this name [conflict]", "twice: the index has more than one skill of this name [conflict]",
				"file: the scheme file of its url is not https [malformed]", "js: the scheme javascript of its url is not https [malformed]", "cred: its url has credentials in it [malformed]",
				"plain: its url leads from https to http [malformed]", "back: its url is empty, too long or holds a blank, a backslash or a control character [malformed]",
				"none: its url is empty, too long or holds a blank, a backslash or a control character [malformed]", "nodigest: its digest is not sha256:<64 hex digits> [malformed]",
				": its name is none by the rules of Agent Skills [malformed]", ": its name is none by the rules of Agent Skills [malformed]"}, ""},
		{"0.1.0", `{"skills":[{"name":"tide","description":"d","files":["SKILL.md","a b/c.py"]},{"name":"up","files":["SKILL.md","../x"]},{"name":"abs","files":["SKILL.md","/etc/passwd"]},{"name":"enc","files":["SKILL.md","%2e%2e/x"]},{"name":"none","files":["a.md"]},{"name":"case","files":["SKILL.md","a","A"]},{"name":"q","files":["SKILL.md","a?b"]}]}`,
			[]string{"tide files  SKILL.md=https://example.org/docs/.well-known/agent-skills/tide/SKILL.md a b/c.py=https://example.org/docs/.well-known/agent-skills/tide/a%20b/c.py",
				"up: the path ../x cannot be fetched [malformed]", "abs: the path /etc/passwd cannot be fetched [malformed]", "enc: the path %2e%2e/x cannot be fetched [malformed]",
				"none: its list of files lacks SKILL.md [malformed]", "case: the path A occurs twice [malformed]", "q: the path a?b cannot be fetched [malformed]"}, ""},
		{"unknown schema", `{"$schema":"https://schemas.agentskills.io/discovery/0.3.0/schema.json","skills":[]}`, nil, fault.Malformed},
		{"schema of another type", `{"$schema":null,"skills":[]}`, nil, fault.Malformed},
		{"a draft with another version", `{"version":"0.2.0","skills":[]}`, nil, fault.Malformed},
		{"no list", one() + "x", nil, fault.Malformed},
		{"no skills", `{"$schema":"` + discovery.Schema + `"}`, nil, fault.Malformed},
		{"a name twice in an object", `{"skills":[],"skills":[]}`, nil, fault.Malformed},
		{"a million entries", one(strings.TrimSuffix(strings.Repeat("{},", 1_000_000), ",")), nil, fault.Limit},
		{"too many entries", one(strings.TrimSuffix(strings.Repeat("{},", discovery.MaxSkills+1), ",")), nil, fault.Limit},
		{"too large", one(strings.Repeat(" ", discovery.MaxIndex)), nil, fault.Limit},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix, err := discovery.Parse([]byte(c.text), at)
			if fault.CodeOf(err) != c.code && !(err == nil && c.code == "") {
				t.Fatalf("%v, want %q", err, c.code)
			}
			if err != nil {
				return
			}
			var got []string
			for _, s := range ix.Skills {
				text := s.Name + " " + s.Type + " " + s.URL
				for _, f := range s.Files {
					text += " " + f.Path + "=" + f.URL
				}
				got = append(got, text)
			}
			for _, p := range ix.Passed {
				got = append(got, fmt.Sprintf("%s: %s [%s]", p.Name, p.Why, p.Code))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

var skill = []foreign.File{{Path: "scripts/run.sh", Data: []byte("#!/bin/sh\n"), Executable: true}, {Path: "SKILL.md", Data: []byte("---\nname: tide\n---\n")},
	{Path: "résumé.md", Data: []byte("é")}, {Path: strings.Repeat("long/", 30) + "x.md", Data: nil}}

// TestPack: what is packed comes back, the same files give the same bytes, and nothing but regular
// files is in it.
func TestPack(t *testing.T) {
	raw, err := discovery.Pack(skill)
	if err != nil {
		t.Fatal(err)
	}
	back := slices.Clone(skill)
	slices.Reverse(back)
	if again, _ := discovery.Pack(back); !bytes.Equal(raw, again) {
		t.Error("another order gives other bytes")
	}
	files, err := discovery.Unpack(discovery.TypeArchive, raw)
	if err != nil || len(files) != len(skill) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		i := slices.IndexFunc(skill, func(s foreign.File) bool { return s.Path == f.Path })
		if i < 0 || !bytes.Equal(skill[i].Data, f.Data) || skill[i].Executable != f.Executable {
			t.Errorf("%q came back as %+v", f.Path, f)
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if !z.ModTime.IsZero() || z.Name != "" {
		t.Errorf("gzip has a time or a name: %+v", z.Header)
	}
	r, before := tar.NewReader(z), ""
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil || h.Typeflag != tar.TypeReg || h.ModTime.Unix() != 0 || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Name <= before {
			t.Fatalf("%+v, %v", h, err)
		}
		before = h.Name
	}
}

func zipOf(t *testing.T, all ...string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(all); i += 2 {
		f, err := w.Create(all[i])
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, all[i+1])
	}
	w.Close()
	return b.Bytes()
}

func tarOf(all ...tar.Header) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range append([]tar.Header{{Name: "SKILL.md", Typeflag: tar.TypeReg, Size: 1, Mode: 0o644}}, all...) {
		w.WriteHeader(&h)
		w.Write(make([]byte, h.Size))
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

func TestUnpackRefuses(t *testing.T) {
	many := []string{"SKILL.md", "x"}
	for i := range discovery.MaxFiles {
		many = append(many, fmt.Sprintf("f%d", i), "")
	}
	for _, c := range []struct {
		name string
		raw  []byte
		code fault.Code
	}{
		{"zip", zipOf(t, "SKILL.md", "x", "a/b", "y"), ""},
		{"tar", tarOf(tar.Header{Name: "a/", Typeflag: tar.TypeDir}, tar.Header{Name: "a/b", Typeflag: tar.TypeReg}), ""},
		{"nothing", nil, fault.Malformed},
		{"a page", []byte("<!doctype html>"), fault.Malformed},
		{"no SKILL.md at the top", zipOf(t, "x/SKILL.md", "x"), fault.Malformed},
		{"up", zipOf(t, "SKILL.md", "x", "../p", "x"), fault.Malformed},
		{"absolute", zipOf(t, "SKILL.md", "x", "/tmp/p", "x"), fault.Malformed},
		{"drive", zipOf(t, "SKILL.md", "x", "C:/p", "x"), fault.Malformed},
		{"twice", zipOf(t, "SKILL.md", "x", "SKILL.md", "y"), fault.Malformed},
		{"case twins", zipOf(t, "SKILL.md", "x", "a/b", "x", "A/c", "x"), fault.Malformed},
		{"case twin of the skill", zipOf(t, "SKILL.md", "x", "skill.md", "x"), fault.Malformed},
		{"link", tarOf(tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "SKILL.md"}), fault.Malformed},
		{"hard link", tarOf(tar.Header{Name: "l", Typeflag: tar.TypeLink, Linkname: "SKILL.md"}), fault.Malformed},
		{"device", tarOf(tar.Header{Name: "d", Typeflag: tar.TypeChar}), fault.Malformed},
		{"too many files", zipOf(t, many...), fault.Limit},
		{"bomb in a tar", tarOf(tar.Header{Name: "b", Typeflag: tar.TypeReg, Size: 26 << 20}), fault.Limit},
		{"bomb in a zip", zipOf(t, "SKILL.md", "x", "b", strings.Repeat("\x00", 26<<20)), fault.Limit},
		{"cut", zipOf(t, "SKILL.md", "x")[:40], fault.Malformed},
	} {
		if _, err := discovery.Unpack(discovery.TypeArchive, c.raw); fault.CodeOf(err) != c.code && (c.code != "" || err != nil) {
			t.Errorf("%s: %v, want %q", c.name, err, c.code)
		}
	}
	if files, err := discovery.Unpack(discovery.TypeSkill, []byte("x")); err != nil || len(files) != 1 || files[0].Path != "SKILL.md" {
		t.Errorf("%+v, %v", files, err)
	}
}

// TestOwn: rye knows the index that it wrote, and no other.
func TestOwn(t *testing.T) {
	raw, err := discovery.Encode([]discovery.Entry{{"b", "archive", "d", "b.tar.gz", sum}, {"a", "skill-md", "<é>", "a/SKILL.md", sum}})
	if err != nil {
		t.Fatal(err)
	}
	if all, ok := discovery.Own(raw); !ok || len(all) != 2 || all[0].Name != "a" {
		t.Errorf("%+v, %t", all, ok)
	}
	if ix, err := discovery.Parse(raw, at); err != nil || len(ix.Skills) != 2 || len(ix.Passed) != 0 {
		t.Errorf("%+v, %v", ix, err)
	}
	for _, other := range []string{"", "{}", string(raw[:len(raw)-1]), strings.Replace(string(raw), `"name": "a"`, `"name": "a", "by": "x"`, 1), strings.Replace(string(raw), "0.2.0", "0.3.0", 1)} {
		if _, ok := discovery.Own([]byte(other)); ok {
			t.Errorf("%q is taken for rye's own", other)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(one(line("tide", "archive", "tide.tar.gz"), line("x", "skill-md", "//h/a"))))
	f.Add([]byte(`{"skills":[{"name":"tide","description":"d","files":["SKILL.md","a b/c.py"]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ix, err := discovery.Parse(raw, at)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, s := range ix.Skills {
			if seen[s.Name] || !discovery.ValidName(s.Name) {
				t.Fatalf("name %q", s.Name)
			}
			seen[s.Name] = true
			all := []string{s.URL}
			for _, f := range s.Files {
				all = append(all, f.URL)
				if !strings.HasPrefix(f.URL, "https://example.org/docs/.well-known/agent-skills/"+s.Name+"/") {
					t.Fatalf("%q lies elsewhere", f.URL)
				}
			}
			for _, text := range all {
				if u, err := url.Parse(text); text != "" && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil) {
					t.Fatalf("%q: %v", text, err)
				}
			}
		}
	})
}

func FuzzUnpack(f *testing.F) {
	raw, _ := discovery.Pack(skill)
	f.Add(raw)
	f.Add(tarOf(tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "SKILL.md"}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		files, err := discovery.Unpack(discovery.TypeArchive, raw)
		if err != nil {
			return
		}
		packed, err := discovery.Pack(files)
		if err != nil {
			return // a name that no archive of ours holds
		}
		again, err := discovery.Unpack(discovery.TypeArchive, packed)
		if err != nil || len(again) != len(files) {
			t.Fatalf("%d files came back as %d: %v", len(files), len(again), err)
		}
	})
}
