package fieldcorpus_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rye-os/rye/internal/fieldcorpus"
	"github.com/rye-os/rye/internal/testkit"
)

// digest covers everything that Repositories returns. Who changes the corpus changes it too.
const digest = "91846a11d1ee4cf79c5de19ff11688664d2ec409321d1967fbec05a2a9285730"

var forms = strings.Fields("accident-deep accident-git accident-gitfile accident-large accident-links accident-names accident-skills accident-twins " +
	"agent-plugin agent-skills agents-md amp antigravity claude claude-marketplace claude-plugin cline codex codex-marketplace codex-plugin " +
	"copilot crush cursor gemini goose kiro opencode warp windsurf zed")

func TestCorpusIsLargeAndVaried(t *testing.T) {
	all := fieldcorpus.Repositories()
	var skills, unusable, warned, programs, size int
	var got []string
	names := map[string]bool{}
	for _, r := range all {
		if names[r.Name] {
			t.Errorf("two repositories are named %q", r.Name)
		}
		names[r.Name] = true
		got = append(got, r.Form)
		for _, s := range r.Skills {
			skills++
			programs += len(s.Programs)
			if s.Usable != (s.Why == "") {
				t.Errorf("%s/%s: Usable is %v and Why %q", r.Name, s.Dir, s.Usable, s.Why)
			}
			if !s.Usable {
				unusable++
			} else if s.Warn != "" {
				warned++
			}
		}
		for _, v := range r.Versions {
			for _, f := range v {
				size += len(f.Data)
			}
		}
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, forms) {
		t.Errorf("forms are\n%q, want\n%q", got, forms)
	}
	for _, c := range []struct {
		what             string
		got, least, most int
	}{
		{"repositories", len(all), 60, 99}, {"skills", skills, 500, 2000}, {"skills that are not usable", unusable, 60, 400},
		{"skills with a warning", warned, 60, 400}, {"programs", programs, 300, 9000}, {"bytes in all versions", size, 4 << 20, 12 << 20},
	} {
		t.Logf("%s: %d", c.what, c.got)
		if c.got < c.least || c.got > c.most {
			t.Errorf("%s: got %d, want %d to %d", c.what, c.got, c.least, c.most)
		}
	}
}

func TestCorpusIsAlwaysTheSame(t *testing.T) {
	first, second := fieldcorpus.Repositories(), fieldcorpus.Repositories()
	if !reflect.DeepEqual(first, second) {
		t.Error("two calls differ")
	}
	if got := sum(first); got != digest {
		t.Errorf("digest is %s, want %s", got, digest)
	}
}

// sum writes a length before each part, so that no two corpora give the same bytes.
func sum(all []fieldcorpus.Repository) string {
	h := sha256.New()
	put := func(parts ...string) {
		for _, p := range parts {
			var n [8]byte
			binary.BigEndian.PutUint64(n[:], uint64(len(p)))
			h.Write(n[:])
			h.Write([]byte(p))
		}
	}
	for _, r := range all {
		put(r.Name, r.Form, fmt.Sprintf("%q", r.Notes))
		for _, v := range r.Versions {
			put("version")
			for _, f := range v {
				put(f.Path, string(f.Data), fmt.Sprint(f.Exec), f.Link)
			}
		}
		for _, s := range r.Skills {
			put("skill", s.Name, s.Dir, fmt.Sprintf("%q", s.Files), fmt.Sprint(s.Usable), s.Why, s.Warn, fmt.Sprintf("%q", s.Programs))
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestTreesAreSound(t *testing.T) {
	for _, r := range fieldcorpus.Repositories() {
		if len(r.Versions) != 3 {
			t.Fatalf("%s has %d versions, want 3", r.Name, len(r.Versions))
		}
		if reflect.DeepEqual(r.Versions[0], r.Versions[1]) || reflect.DeepEqual(r.Versions[1], r.Versions[2]) || reflect.DeepEqual(r.Versions[0], r.Versions[2]) {
			t.Errorf("%s: two versions are the same", r.Name)
		}
		for v, files := range r.Versions {
			kind := map[string]string{} // a path is a file or a directory, never both
			for i, f := range files {
				if i > 0 && files[i-1].Path >= f.Path {
					t.Errorf("%s version %d: %q is out of order", r.Name, v, f.Path)
				}
				if clean := path.Clean(f.Path); clean != strings.TrimSuffix(f.Path, "/") || strings.HasPrefix(f.Path, "/") || strings.HasPrefix(f.Path, "../") {
					t.Errorf("%s version %d: %q is no clean path", r.Name, v, f.Path)
				}
				kind[f.Path] = "file"
			}
			for _, f := range files {
				for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
					if kind[dir] == "file" {
						t.Errorf("%s version %d: %q is below the file %q", r.Name, v, f.Path, dir)
					}
				}
			}
		}
		there := map[string]bool{}
		for _, f := range r.Versions[0] {
			there[f.Path] = true
		}
		dirs := map[string]bool{}
		for _, s := range r.Skills {
			if dirs[s.Dir] || len(s.Files) == 0 || !slices.IsSorted(s.Files) {
				t.Errorf("%s/%s is there twice, or its files are none or not sorted", r.Name, s.Dir)
			}
			dirs[s.Dir] = true
			for _, p := range s.Files {
				if !there[p] {
					t.Errorf("%s: skill %s has no file %q", r.Name, s.Dir, p)
				}
			}
			for _, p := range s.Programs {
				if !slices.Contains(s.Files, p) {
					t.Errorf("%s: program %q is no file of skill %s", r.Name, p, s.Dir)
				}
			}
		}
	}
}

func TestChangesOccur(t *testing.T) {
	count := map[string]int{}
	for _, r := range fieldcorpus.Repositories() {
		for _, n := range r.Notes {
			if rest, ok := strings.CutPrefix(n, "version "); ok {
				count[strings.Split(rest, ": ")[1]]++
			}
		}
	}
	for _, c := range []string{fieldcorpus.EditText, fieldcorpus.NewFile, fieldcorpus.NewProgram, fieldcorpus.NewHost, fieldcorpus.DeleteFile, fieldcorpus.RenameSkill,
		fieldcorpus.ChangeFront, fieldcorpus.WidenTools, fieldcorpus.CheckoutCRLF, fieldcorpus.ChangeMode, fieldcorpus.NewSkill, fieldcorpus.DeleteSkill,
		fieldcorpus.BreakSkill, fieldcorpus.FileToLink, fieldcorpus.ProgramReplace} {
		if count[c] < 5 {
			t.Errorf("change %q occurs %d times, want 5", c, count[c])
		}
	}
}

// noted are accidents that a note names.
var noted = []string{"has no front matter", "has no end of the front matter", "has no description", "has an empty description", "has a null description",
	"has a name unlike its directory", "has a name in upper case", "has a name of non-ASCII letters", "has a description of 1025", "has a name of 65", "has a tab in its YAML",
	"has an anchor", "has a colon in a plain value", "has a key twice", "is in UTF-16", "has flow style", "has a tag", "has --- inside", "has a field that",
	"has a list of allowed tools", "has metadata that are no strings", "has a compatibility of 501", "has the reserved name synced", "asks to be hidden", "has more than 500 lines",
	"twins but for case", "NFC and in NFD", "in four places", "submodules that are not checked out", "gitignore names", "export-ignore hides", "names that Windows", "names that are not UTF-8",
	"a loop", "an absolute link", "a link to nothing", "SKILL.md is a link", "SKILL.md is a directory", "has 512 files", "40 directories deep", "every kind of source", "pluginRoot", "agents/openai.yaml is broken"}

// seen are accidents that the first version of a tree shows.
var seen = map[string]func(fieldcorpus.File) bool{
	"CR LF":           func(f fieldcorpus.File) bool { return isSkill(f) && bytes.HasPrefix(f.Data, []byte("---\r\n")) },
	"byte order mark": func(f fieldcorpus.File) bool { return isSkill(f) && bytes.HasPrefix(f.Data, []byte("\ufeff---\n")) },
	"NUL byte":        func(f fieldcorpus.File) bool { return isSkill(f) && bytes.HasSuffix(f.Data, []byte("\x00\n")) },
	"LFS pointer": func(f fieldcorpus.File) bool {
		return f.Exec && bytes.HasPrefix(f.Data, []byte("version https://git-lfs"))
	},
	"name not UTF-8":   func(f fieldcorpus.File) bool { return !utf8.ValidString(f.Path) },
	"empty directory":  func(f fieldcorpus.File) bool { return strings.HasSuffix(f.Path, "/") },
	"file of 1 MB":     func(f fieldcorpus.File) bool { return len(f.Data) == 1<<20 },
	"empty file":       func(f fieldcorpus.File) bool { return f.Link == "" && len(f.Data) == 0 && path.Ext(f.Path) == ".bin" },
	"link outside":     func(f fieldcorpus.File) bool { return strings.HasPrefix(path.Join(path.Dir(f.Path), f.Link), "../") },
	"linked SKILL.md":  func(f fieldcorpus.File) bool { return isSkill(f) && f.Link != "" },
	"hidden file":      func(f fieldcorpus.File) bool { return path.Base(f.Path) == ".hidden" },
	"file .git":        func(f fieldcorpus.File) bool { return path.Base(f.Path) == ".git" },
	"script, no mode":  func(f fieldcorpus.File) bool { return !f.Exec && bytes.HasPrefix(f.Data, []byte("#!")) },
	"text with mode":   func(f fieldcorpus.File) bool { return f.Exec && path.Ext(f.Path) == ".md" },
	"ELF":              starts("\x7fELF"),
	"PE":               func(f fieldcorpus.File) bool { return starts("MZ")(f) && bytes.Contains(f.Data, []byte("PE\x00\x00")) },
	"Mach-O":           starts("\xcf\xfa\xed\xfe"),
	"fat Mach-O":       starts("\xca\xfe\xba\xbe"),
	"wasm":             starts("\x00asm"),
	"zip":              starts("PK\x03\x04"),
	"font":             starts("wOF2"),
	"picture":          starts("\x89PNG"),
	"skill.md":         func(f fieldcorpus.File) bool { return path.Base(f.Path) == "skill.md" },
	"root SKILL.md":    func(f fieldcorpus.File) bool { return f.Path == "SKILL.md" },
	"agent plugin":     func(f fieldcorpus.File) bool { return f.Path == "plugin.json" },
	"rules of Cursor":  func(f fieldcorpus.File) bool { return path.Ext(f.Path) == ".mdc" },
	"command in TOML":  func(f fieldcorpus.File) bool { return strings.HasPrefix(f.Path, ".gemini/commands/press/") },
	"linked directory": func(f fieldcorpus.File) bool { return f.Path == ".claude/skills" && f.Link != "" },
}

func isSkill(f fieldcorpus.File) bool { return path.Base(f.Path) == "SKILL.md" }

func starts(magic string) func(fieldcorpus.File) bool {
	return func(f fieldcorpus.File) bool { return bytes.HasPrefix(f.Data, []byte(magic)) }
}

func TestAccidentsOccur(t *testing.T) {
	all := fieldcorpus.Repositories()
	for _, want := range noted {
		if !slices.ContainsFunc(all, func(r fieldcorpus.Repository) bool {
			return slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, want) })
		}) {
			t.Errorf("no repository notes %q", want)
		}
	}
	for what, is := range seen {
		if !slices.ContainsFunc(all, func(r fieldcorpus.Repository) bool { return slices.ContainsFunc(r.Versions[0], is) }) {
			t.Errorf("no tree has: %s", what)
		}
	}
}

func TestWriteGivesBackTheTree(t *testing.T) {
	for _, r := range fieldcorpus.Repositories() {
		for v, files := range r.Versions {
			dir := t.TempDir()
			refused := map[string]bool{}
			if err := r.Write(dir, v); err != nil {
				for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
					var p *fs.PathError
					if !errors.As(e, &p) {
						t.Fatal(err)
					}
					refused[p.Path] = true
				}
			}
			// Only odd names may be refused, and a usual file system of Linux takes all of them.
			if len(refused) > 0 && (runtime.GOOS == "linux" || !strings.HasPrefix(r.Form, "accident-")) {
				t.Logf("%s version %d: the file system refuses %d paths", r.Name, v, len(refused))
			}
			if len(refused) > len(files)/2 {
				t.Errorf("%s version %d: %d of %d paths are refused", r.Name, v, len(refused), len(files))
			}
			wrote := 0
			testkit.Must(t, filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					wrote++
				}
				return err
			}))
			want := 0
			for _, f := range files {
				if refused[f.Path] {
					continue
				}
				if !strings.HasSuffix(f.Path, "/") {
					want++
				}
				compare(t, dir, f)
			}
			if wrote != want {
				t.Errorf("%s version %d: %d files are written, want %d", r.Name, v, wrote, want)
			}
		}
	}
}

func compare(t *testing.T, dir string, f fieldcorpus.File) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(f.Path))
	info, err := os.Lstat(at)
	if err != nil {
		t.Error(err)
		return
	}
	switch {
	case strings.HasSuffix(f.Path, "/"):
		if !info.IsDir() {
			t.Errorf("%s is no directory", f.Path)
		}
	case f.Link != "":
		if got, err := os.Readlink(at); err != nil || filepath.ToSlash(got) != f.Link {
			t.Errorf("%s links to %q (%v), want %q", f.Path, got, err, f.Link)
		}
	default:
		if got, err := os.ReadFile(at); err != nil || !bytes.Equal(got, f.Data) {
			t.Errorf("%s has other bytes (%v)", f.Path, err)
		}
		if runtime.GOOS != "windows" && f.Exec != (info.Mode()&0o111 == 0o111) {
			t.Errorf("%s has mode %v, want Exec %v", f.Path, info.Mode(), f.Exec)
		}
	}
}
