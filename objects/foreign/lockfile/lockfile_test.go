package lockfile_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign/lockfile"
)

// show writes an entry in one line.
func show(e lockfile.Entry) string {
	if e.Why != "" {
		s := e.Name + ": refused: " + e.Why
		if e.Try != "" {
			s += "; try " + e.Try
		}
		return s
	}
	s := fmt.Sprintf("%s: %s %s", e.Name, e.Source.Kind, e.Source)
	if e.Commit != "" {
		s += " at " + e.Commit[:7]
	}
	if len(e.Skills) > 0 {
		s += " skills " + strings.Join(e.Skills, ",")
	}
	for _, sum := range e.Sums {
		s += " " + string(sum.Rule) + "=" + sum.Value
	}
	for _, n := range e.Note {
		s += " (" + n + ")"
	}
	return s
}

const commit = "7f3c9a4d2e1b8c7f0a9e6d5c4b3a2918f7e6d5c4"

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, base, text string
		want             []string
		unknown          int
	}{
		{"vercel", "skills-lock.json", `{"version":1,"theme":"x","skills":{
 "a":{"source":"ada/skills","sourceType":"github","ref":"v2","skillPath":"skills/a/SKILL.md","computedHash":"c0","color":1},
 "b":{"source":"git@github.com:ada/skills.git","sourceType":"github","skillPath":"SKILL.md","computedHash":"c1"},
 "c":{"source":"g/p","sourceUrl":"https://gitlab.com/g/p.git","sourceType":"gitlab","computedHash":"c2"},
 "d":{"source":"g/p","sourceType":"git"},
 "e":{"source":"example.org","sourceUrl":"https://example.org","sourceType":"well-known","computedHash":"c3","wellKnownDigest":"sha256:d"},
 "f":{"source":"example.org","sourceUrl":"https://example.org/docs/","sourceType":"well-known","computedHash":"c4"},
 "g":{"source":"./own/g","sourceType":"local","computedHash":"c5"},
 "h":{"source":"../elsewhere","sourceType":"local","computedHash":"c6"},
 "i":{"source":"@ada/kit","sourceType":"node_modules","skillPath":"SKILL.md"},
 "j":{"source":"ada/skills#main","sourceType":"github"},
 "k":{"source":"ada/skills","sourceType":"github","ref":"a//b"},
 "l":{"source":"ada/skills","sourceType":"github","skillPath":"../x/SKILL.md"},
 "m":{"source":"file:///etc","sourceUrl":"file:///etc/x.git","sourceType":"git"},
 "n":{"source":"https://u:p@example.org/x.git","sourceUrl":"https://u:p@example.org/x.git","sourceType":"git"},
 "o":{"source":"ada/skills","sourceType":"github","ref":7},
 "p":{"source":"x","sourceType":"zip"},
 "q":[]}}`, []string{
			`a: git https://github.com/ada/skills#v2//skills/a computedHash=c0`,
			`b: git ssh://git@github.com/ada/skills computedHash=c1`,
			`c: git https://gitlab.com/g/p.git skills c computedHash=c2`,
			`d: refused: its sourceUrl is missing, and its source names no host`,
			`e: site https://example.org/.well-known/agent-skills/index.json skills e wellKnownDigest=sha256:d`,
			`f: site https://example.org/docs/.well-known/agent-skills/index.json skills f computedHash=c4`,
			`g: folder own/g skills g computedHash=c5`,
			`h: refused: its folder is not below the lock file's: ../elsewhere`,
			`i: refused: it is part of an npm package, which npm's own lock file pins; try ./node_modules/@ada/kit`,
			`j: refused: `, `k: refused: `, `l: refused: `, `m: refused: `, `n: refused: `,
			`o: refused: its field ref is malformed`,
			`p: refused: its sourceType is unknown`,
			`q: refused: its entry is no object`,
		}, 2},
		{"vercel global", ".skill-lock.json", `{"version":3,"skills":{
 "a":{"source":"ada/skills","sourceType":"github","sourceUrl":"https://github.com/ada/skills.git","skillPath":"a/SKILL.md","skillFolderHash":"` + commit + `","installedAt":"x","updatedAt":"y"},
 "b":{"source":"x","sourceType":"git","sourceUrl":"https://git.example.org/x.git","skillPath":"b/SKILL.md","skillFolderHash":"` + strings.Repeat("0", 64) + `"},
 "c":{"source":"example.org","sourceType":"well-known","sourceUrl":"https://cdn.example.org/c.tar.gz","sourceBaseUrl":"https://example.org/","skillFolderHash":"","wellKnownDigest":"sha256:d"}},"dismissed":{}}`, []string{
			`a: git https://github.com/ada/skills//a skillFolderHash=` + commit,
			`b: git https://git.example.org/x.git//b computedHash=` + strings.Repeat("0", 64),
			`c: site https://example.org/.well-known/agent-skills/index.json skills c wellKnownDigest=sha256:d`,
		}, 0},
		{"apm", "apm.lock.yaml", `lockfile_version: '2'
generated_at: '2026-08-25T17:51:27+00:00'
apm_version: 0.28.0
x-acme: {a: 1}
dependencies:
- repo_url: android/skills
  name: skills
  host: github.com
  resolved_commit: ` + commit + `
  resolved_ref: v1.0.7
  version: 1e5e7ae
  package_type: marketplace_plugin
  content_hash: sha256:c2
- repo_url: github.com/octocat/example
  resolved_commit: "` + commit + `"
  resolved_ref: ` + commit + `
  tree_sha256: a1
  content_hash: sha256:c3
  skill_subset: [b, a]
  x-note: 1
- repo_url: ada/own
  host: git.example.org
  port: 8443
  virtual_path: skills/tide
  is_virtual: true
  resolved_ref: main
  package_type: claude_skill
- repo_url: ada/own
  virtual_path: agents/x.agent.md
  is_virtual: true
  resolved_commit: ` + commit + `
- {repo_url: _local/kit, source: local, local_path: ./packages/kit, content_hash: sha256:c4}
- {repo_url: _local/up, source: local, local_path: ../up}
- {repo_url: acme/reg, source: registry, resolved_url: https://r.example.org/x.tar.gz, resolved_hash: sha256:aa}
- {repo_url: acme/plain, is_insecure: true}
- {repo_url: acme/short, resolved_commit: 7f3c9a4}
- {repo_url: Ada-Lovelace/Kit, materialization_repo_url: evil/kit, resolved_ref: main}
mcp_servers: [a]
`, []string{
			`android/skills: git https://github.com/android/skills#v1.0.7 at 7f3c9a4 (content_hash covers files that APM adds to a plugin, so rye does not compare it)`,
			`github.com/octocat/example: git https://github.com/octocat/example at 7f3c9a4 skills b,a tree_sha256=sha256:a1 content_hash=sha256:c3`,
			`ada/own/skills/tide: git https://git.example.org:8443/ada/own#main//skills/tide`,
			`ada/own/agents/x.agent.md: refused: it is one file of a repository; try https://github.com/ada/own#` + commit + `//agents`,
			`_local/kit: folder packages/kit content_hash=sha256:c4`,
			`_local/up: refused: its folder is not below the lock file's: ../up`,
			`acme/reg: refused: it comes from an APM registry, which rye does not read`,
			`acme/plain: refused: its address is http, without encryption`,
			`acme/short: refused: its resolved_commit is no id of a commit`,
			`Ada-Lovelace/Kit: git https://github.com/Ada-Lovelace/Kit#main`,
		}, 2},
		{"toolhive", "toolhive.lock.yaml", `version: 1
skills:
  - name: tide
    version: 1.0.0
    source: git://github.com/ada/skills@main#skills/tide
    resolvedReference: git://github.com/ada/skills@main#skills/tide
    digest: ` + commit + `
    contentDigest: sha256:c1
    explicit: true
    provenance: {signerIdentity: x, certIssuer: y}
  - name: oci
    source: ghcr.io/ada/tide:v1
    resolvedReference: ghcr.io/ada/tide:v1
    digest: sha256:` + strings.Repeat("0", 64) + `
  - name: tide
    source: git://github.com/ada/skills
    digest: ` + commit + `
plugins:
  - {name: kit, source: "git://git.example.org/ada/kit@` + commit + `", digest: ` + commit + `, extra: 1}
`, []string{
			`tide: git https://github.com/ada/skills#main//skills/tide at 7f3c9a4 contentDigest=sha256:c1 (its provenance (Sigstore) is not verified by rye)`,
			`oci: refused: it is an OCI artifact, which rye does not fetch`,
			`tide: refused: its name is given twice`,
			`kit: git https://git.example.org/ada/kit at 7f3c9a4`,
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lockfile.Read(c.base, []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if len(l.Entries) != len(c.want) || l.Unknown != c.unknown {
				t.Errorf("%d entries, %d unknown fields; want %d and %d", len(l.Entries), l.Unknown, len(c.want), c.unknown)
			}
			for i, e := range l.Entries {
				if got := show(e); i < len(c.want) && got != c.want[i] && !(strings.HasSuffix(c.want[i], ": refused: ") && strings.HasPrefix(got, c.want[i])) {
					t.Errorf("entry %d\n got %s\nwant %s", i, got, c.want[i])
				}
				if strings.Contains(show(e), "u:p") {
					t.Errorf("a password is shown: %s", show(e))
				}
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	many := `{"version":1,"skills":{`
	for i := range lockfile.MaxEntries + 1 {
		many += fmt.Sprintf(`"s%d":{},`, i)
	}
	for _, c := range []struct {
		name, base, text string
		code             fault.Code
	}{
		{"another name", "package-lock.json", "{}", fault.Usage},
		{"an older version", "skills-lock.json", `{"version":0,"skills":{}}`, fault.Malformed},
		{"a newer version", "skills-lock.json", `{"version":2,"skills":{}}`, fault.Malformed},
		{"no version", "skills-lock.json", `{"skills":{}}`, fault.Malformed},
		{"no JSON", "skills-lock.json", `{"version":1,`, fault.Malformed},
		{"a name twice", "skills-lock.json", `{"version":1,"skills":{"a":{},"a":{}}}`, fault.Malformed},
		{"a list of skills", "skills-lock.json", `{"version":1,"skills":[]}`, fault.Malformed},
		{"too many", "skills-lock.json", many + `"z":{}}}`, fault.Limit},
		{"too deep", "skills-lock.json", `{"version":1,"skills":` + strings.Repeat(`{"a":`, 1000) + `1` + strings.Repeat("}", 1001), fault.Malformed},
		{"too large", "skills-lock.json", strings.Repeat(" ", lockfile.MaxSize+1), fault.Limit},
		{"a newer version", "apm.lock.yaml", "lockfile_version: '3'\ndependencies: []\n", fault.Malformed},
		{"an anchor", "apm.lock.yaml", "lockfile_version: '1'\ndependencies: &a []\n", fault.Malformed},
		{"an alias", "apm.lock.yaml", "lockfile_version: '1'\ndependencies: [*a]\n", fault.Malformed},
		{"a tag", "apm.lock.yaml", "lockfile_version: '1'\ndependencies: !!python/object:os.system []\n", fault.Malformed},
		{"a merge key", "apm.lock.yaml", "lockfile_version: '1'\n<<: {a: b}\ndependencies: []\n", fault.Malformed},
		{"two documents", "apm.lock.yaml", "lockfile_version: '1'\ndependencies: []\n---\na: 1\n", fault.Malformed},
		{"a text", "apm.lock.yaml", "hello", fault.Malformed},
		{"a newer version", "toolhive.lock.yaml", "version: 2\nskills: []\n", fault.Malformed},
		{"no list", "toolhive.lock.yaml", "version: 1\nskills: {a: b}\n", fault.Malformed},
	} {
		if _, err := lockfile.Read(c.base, []byte(c.text)); fault.CodeOf(err) != c.code {
			t.Errorf("%s of %s: %v, want %s", c.name, c.base, err, c.code)
		}
	}
}

// folder returns the files of an archive below a folder.
func folder(a *txtar.Archive, dir string) (f lockfile.Folder) {
	for _, file := range a.Files {
		if p, ok := strings.CutPrefix(file.Name, dir+"/"); ok {
			f.Files = append(f.Files, lockfile.File{Path: p, Data: file.Data})
		}
	}
	return f
}

// TestVercel compares the hashes that the real program wrote.
func TestVercel(t *testing.T) {
	a, err := txtar.ParseFile("testdata/vercel.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"git", "local"} {
		for _, file := range a.Files {
			if file.Name != where+"/skills-lock.json" {
				continue
			}
			l, err := lockfile.Read("skills-lock.json", file.Data)
			if err != nil || len(l.Entries) != 3 || l.Unknown != 0 {
				t.Fatalf("%s: %v, %+v", where, err, l)
			}
			for _, e := range l.Entries {
				f := folder(a, "repo/skills/"+e.Name)
				if len(e.Sums) != 1 || !e.Sums[0].Check(f).Same {
					t.Errorf("%s, %s: %+v", where, e.Name, e.Sums[0].Check(f))
				}
				f.Files[0].Data = append(f.Files[0].Data, '\n')
				if o := e.Sums[0].Check(f); o.Same || o.Found == "" {
					t.Errorf("%s, %s: one byte more makes no difference: %+v", where, e.Name, o)
				}
			}
		}
	}
}

// TestRules computes hashes by hand, or as their tools publish them.
func TestRules(t *testing.T) {
	files := []lockfile.File{{Path: "refs/guide.md", Data: []byte("guide")}, {Path: "SKILL.md", Data: []byte("# Skill")}}
	text := lockfile.File{Path: "SKILL.md", Data: []byte("a\nb\n")}
	windows := lockfile.File{Path: "SKILL.md", Data: []byte("a\r\nb\r\n")}
	hash := func(rule lockfile.Rule, files ...lockfile.File) string {
		return lockfile.Sum{Rule: rule}.Check(lockfile.Folder{Files: files}).Found
	}
	for _, c := range []struct {
		name string
		sum  lockfile.Sum
		in   lockfile.Folder
		same bool
		note bool
	}{
		{"ToolHive's first vector", lockfile.Sum{Rule: lockfile.ContentDigest, Value: "sha256:79d1b89c9733bc5a3c51bd715612a85ab13add6933cb9aa7cc1ae44fd5d181a3"},
			lockfile.Folder{Files: []lockfile.File{{Path: "a.txt", Data: []byte("hello world")}}}, true, false},
		{"ToolHive's second vector", lockfile.Sum{Rule: lockfile.ContentDigest, Value: "sha256:9b46342aaebede490f12bf67a5ecb4be507c7684ee5e11a0511b54c701f464bd"},
			lockfile.Folder{Files: files}, true, false},
		{"ToolHive takes the top of a repository's folder", lockfile.Sum{Rule: lockfile.ContentDigest, Value: hash(lockfile.ContentDigest, files[1])},
			lockfile.Folder{Files: files}, true, false},
		{"APM skips its marker and caches", lockfile.Sum{Rule: lockfile.ContentHash, Value: hash(lockfile.ContentHash, files...)},
			lockfile.Folder{Files: append([]lockfile.File{{Path: ".apm-pin"}, {Path: "x/__pycache__/a.pyc"}, {Path: ".git/HEAD"}}, files...)}, true, false},
		{"APM does not skip a marker further down", lockfile.Sum{Rule: lockfile.ContentHash, Value: hash(lockfile.ContentHash, files...)},
			lockfile.Folder{Files: append([]lockfile.File{{Path: "x/.apm-pin"}}, files...)}, false, false},
		{"vercel's service leaves out metadata.json", lockfile.Sum{Rule: lockfile.ComputedHash, Value: hash(lockfile.ComputedHash, files...)},
			lockfile.Folder{Files: append([]lockfile.File{{Path: "metadata.json", Data: []byte("{}")}}, files...)}, true, false},
		{"CRLF", lockfile.Sum{Rule: lockfile.ComputedHash, Value: hash(lockfile.ComputedHash, windows)}, lockfile.Folder{Files: []lockfile.File{text}}, true, true},
		{"CRLF of APM", lockfile.Sum{Rule: lockfile.ContentHash, Value: hash(lockfile.ContentHash, windows)}, lockfile.Folder{Files: []lockfile.File{text}}, true, true},
		{"LF where CRLF came", lockfile.Sum{Rule: lockfile.ComputedHash, Value: hash(lockfile.ComputedHash, text)}, lockfile.Folder{Files: []lockfile.File{windows}}, false, false},
		{"git tree", lockfile.Sum{Rule: lockfile.SkillFolderHash, Value: commit}, lockfile.Folder{Tree: commit}, true, false},
		{"no git tree", lockfile.Sum{Rule: lockfile.SkillFolderHash, Value: ""}, lockfile.Folder{}, false, false},
		{"artifact", lockfile.Sum{Rule: lockfile.WellKnownDigest, Value: "sha256:aa"}, lockfile.Folder{Artifact: "sha256:aa"}, true, false},
		{"another artifact", lockfile.Sum{Rule: lockfile.WellKnownDigest, Value: "sha256:aa"}, lockfile.Folder{Artifact: "sha256:ab"}, false, false},
		{"OpenAPM", lockfile.Sum{Rule: lockfile.TreeSHA256, Value: objects.DigestOf(nil).String()}, lockfile.Folder{Sum: objects.DigestOf(nil)}, true, false},
		{"an unknown rule", lockfile.Sum{Rule: "md5", Value: "x"}, lockfile.Folder{Files: files}, false, false},
	} {
		if o := c.sum.Check(c.in); o.Same != c.same || (o.Note != "") != c.note {
			t.Errorf("%s: %+v, want same %t", c.name, o, c.same)
		}
	}
}

// TestAmbiguous keeps in mind what the rules without separators cannot tell apart: why a commit or a
// git tree is better evidence.
func TestAmbiguous(t *testing.T) {
	one := lockfile.Folder{Files: []lockfile.File{{Path: "a", Data: []byte("bc")}}}
	other := lockfile.Folder{Files: []lockfile.File{{Path: "ab", Data: []byte("c")}}}
	for _, rule := range []lockfile.Rule{lockfile.ComputedHash, lockfile.ContentHash} {
		if (lockfile.Sum{Rule: rule}).Check(one).Found != (lockfile.Sum{Rule: rule}).Check(other).Found {
			t.Errorf("%s tells them apart", rule)
		}
	}
	if (lockfile.Sum{Rule: lockfile.ContentDigest}).Check(one).Found == (lockfile.Sum{Rule: lockfile.ContentDigest}).Check(other).Found {
		t.Error("contentDigest does not tell them apart")
	}
}

// TestOrder compares the order of names with Node.js (testdata/collate.json).
func TestOrder(t *testing.T) {
	raw, err := os.ReadFile("testdata/collate.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Paths, Accents, Random []string }
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	for name, names := range map[string][]string{"paths": want.Paths, "accents": want.Accents, "random": want.Random} {
		if len(names) < 15 {
			t.Errorf("%s: %d names", name, len(names))
		}
		for i := range names {
			for j := range i {
				if lockfile.Collate(names[j], names[i]) >= 0 {
					t.Errorf("%s: %q stands after %q", name, names[j], names[i])
				}
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	names := []string{"skills-lock.json", ".skill-lock.json", "apm.lock.yaml", "toolhive.lock.yaml"}
	a, err := txtar.ParseFile("testdata/vercel.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range a.Files {
		if strings.HasSuffix(file.Name, "skills-lock.json") {
			f.Add(0, file.Data)
		}
	}
	f.Add(1, []byte(`{"version":3,"skills":{"a":{"source":"a/b","sourceType":"github","skillPath":"a/SKILL.md","skillFolderHash":"`+commit+`"}}}`))
	f.Add(2, []byte("lockfile_version: '1'\ndependencies:\n- {repo_url: a/b, resolved_commit: "+commit+", resolved_ref: main, virtual_path: x/y}\n"))
	f.Add(3, []byte("version: 1\nskills:\n- {name: a, source: \"git://h/o/r@x#y\", digest: "+commit+"}\n"))
	f.Fuzz(func(t *testing.T, which int, raw []byte) {
		l, err := lockfile.Read(names[uint(which)%4], raw)
		if err != nil {
			return
		}
		for _, e := range l.Entries {
			if e.Why != "" {
				if e.Source.Address != "" || e.Commit != "" || e.Sums != nil {
					t.Fatalf("refused, and has a source: %+v", e)
				}
				continue
			}
			if e.Source.Kind == objects.SourceFolder {
				if a := e.Source.Address; strings.HasPrefix(a, "/") || strings.Contains("/"+a+"/", "/../") {
					t.Fatalf("leads out: %q", a)
				}
				continue
			}
			again, err := objects.ParseSource(e.Source.String())
			if err != nil || again != e.Source || e.Source.Short || e.Source.Local() {
				t.Fatalf("%q is no source: %+v, %+v, %v", e.Source, e.Source, again, err)
			}
		}
	})
}
