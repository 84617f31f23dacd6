package workspace_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/fieldcorpus"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
)

// TestFieldCorpus adds every repository of the corpus from a folder, from an archive and from a git
// repository, in its first version, and the others from a folder. Every usable skill is in the
// project then, with its bytes and modes, and everything else is named. The bundles can be signed.
func TestFieldCorpus(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its disks do not hold these names and modes")
	}
	testkit.NeedProgram(t, "git")
	for i, repo := range fieldcorpus.Repositories() {
		t.Run(repo.Name, func(t *testing.T) {
			t.Parallel()
			p := project(t)
			p.looks = true
			consent := p.o.Consent
			p.o.Consent = func(ctx context.Context, q rye.Question) (bool, error) {
				if strings.HasPrefix(q.Topic, "contact ") {
					return false, nil // the other places of a marketplace are nowhere
				}
				return consent(ctx, q)
			}
			p.enter(p.dir)
			f := &field{person: p, t: t, repo: repo, sign: i%4 == 0}
			dir := f.write(0)
			f.add(rye.AddRequest{Path: dir, As: "folder"}, repo.Versions[0], "file:"+path.Base(dir))
			packed := filepath.Join(t.TempDir(), "field.tar.gz")
			testkit.WriteFile(t, packed, f.archive(), 0o644)
			f.add(rye.AddRequest{Path: packed, As: "archive"}, repo.Versions[0], "file:field.tar.gz")
			dir, kept := f.repository()
			f.add(rye.AddRequest{URL: dir, As: "git"}, kept, "file://"+filepath.ToSlash(dir))
			for v := 1; v < len(repo.Versions) && !testing.Short(); v++ {
				f.repo.Skills = nil // the truth is that of the first version
				f.add(rye.AddRequest{Path: f.write(v), As: fmt.Sprintf("v%d", v+1)}, repo.Versions[v], "")
			}
		})
	}
}

type field struct {
	*person
	t      *testing.T
	repo   fieldcorpus.Repository
	commit string            // of the git repository
	trees  map[string]string // its trees, by folder
	sign   bool
}

// write puts a version of the repository into a folder.
func (f *field) write(v int) string {
	dir := filepath.Join(f.t.TempDir(), "field")
	testkit.Must(f.t, os.Mkdir(dir, 0o755))
	if err := f.repo.Write(dir, v); err != nil {
		f.t.Logf("version %d: %v", v+1, err)
	}
	return dir
}

// archive returns the first version as a tar.gz.
func (f *field) archive() string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, file := range f.repo.Versions[0] {
		h := &tar.Header{Name: "top/" + file.Path, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(file.Data)), Format: tar.FormatGNU}
		switch {
		case strings.HasSuffix(file.Path, "/"):
			h.Typeflag, h.Mode, h.Size = tar.TypeDir, 0o755, 0
		case file.Link != "":
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, file.Link, 0
		case file.Exec:
			h.Mode = 0o755
		}
		testkit.Must(f.t, w.WriteHeader(h))
		if h.Typeflag == tar.TypeReg {
			_, err := w.Write(file.Data)
			testkit.Must(f.t, err)
		}
	}
	testkit.Must(f.t, w.Close())
	testkit.Must(f.t, z.Close())
	return b.String()
}

// repository makes a bare git repository with the first version, byte for byte, and returns the files
// that git takes.
func (f *field) repository() (dir string, kept []fieldcorpus.File) {
	dir = filepath.Join(f.t.TempDir(), "field.git")
	testkit.Git(f.t, f.t.TempDir(), "init", "--quiet", "--bare", "--initial-branch=main", dir)
	var b bytes.Buffer
	b.WriteString("commit refs/heads/main\ncommitter t <t@example.org> 0 +0000\ndata 3\none\n")
	for _, file := range f.repo.Versions[0] {
		if strings.HasSuffix(file.Path, "/") || strings.Contains("/"+strings.ToLower(file.Path)+"/", "/.git/") {
			continue
		}
		mode, data := "100644", file.Data
		switch {
		case file.Link != "":
			mode, data = "120000", []byte(file.Link)
		case file.Exec:
			mode = "100755"
		}
		name := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(file.Path)
		fmt.Fprintf(&b, "M %s inline \"%s\"\ndata %d\n%s\n", mode, name, len(data), data)
		kept = append(kept, file)
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = dir, &b
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("git fast-import: %v\n%s", err, out)
	}
	f.commit, f.trees = testkit.Git(f.t, dir, "rev-parse", "HEAD"), treesOf(f.t, dir)
	return dir, kept
}

// add adds the repository and compares what is in the project with the truth.
func (f *field) add(q rye.AddRequest, files []fieldcorpus.File, source string) {
	f.t.Helper()
	reports, err := f.Add(f.t.Context(), rye.Terminal(), q)
	named, came := map[string]rye.AddReport{}, map[string]rye.AddReport{}
	failed := false
	for _, rep := range reports {
		failed = failed || rep.Code != ""
		switch {
		case rep.Why == "":
			came[rep.From] = rep
		case named[rep.Path].Why == "":
			named[rep.Path] = rep
		}
	}
	if (err != nil) != failed {
		f.t.Errorf("%s: error %v, and a part failed: %v", q.As, err, failed)
	}
	at := map[string]fieldcorpus.File{}
	for _, file := range files {
		at[file.Path] = file
	}
	nameOf := func(p string) string {
		for dir := p; dir != "."; dir = path.Dir(dir) {
			if rep := named[dir]; rep.Why != "" {
				return rep.Why
			}
			for _, base := range []string{"/SKILL.md", "/skill.md"} {
				if rep := named[dir+base]; rep.Code != "" || dir == p && rep.Why != "" {
					return rep.Why
				}
			}
		}
		return ""
	}
	var targets []rye.Target
	for _, rep := range came {
		targets = append(targets, rye.Target("bundle:"+strings.TrimPrefix(rep.Path, ".ai/bundles/")))
	}
	for _, s := range f.repo.Skills {
		rep, in := came[s.Dir]
		why := nameOf(s.Dir)
		switch {
		case !s.Usable && in && rep.What == "Agent Skill":
			f.t.Errorf("%s: %s came in, though %s", q.As, s.Dir, s.Why)
		case !s.Usable && why == "":
			f.t.Errorf("%s: nothing names %s, though %s", q.As, s.Dir, s.Why)
		case s.Usable && !in && !strings.HasPrefix(why, "the same files as ") && !strings.HasPrefix(why, "a link to "):
			f.t.Errorf("%s: %s did not come in: %q", q.As, s.Dir, why)
		case s.Usable && in:
			f.compare(q.As, rep, s, at, nameOf)
			if at[s.Dir].Link == "" {
				f.origin(q.As, rep, source)
			}
		}
	}
	if f.sign && len(targets) > 0 {
		if _, err := f.Sign(f.t.Context(), rye.Terminal(), rye.SignRequest{Targets: targets}); err != nil {
			f.t.Errorf("%s: sign: %v", q.As, err)
		}
	}
}

// compare compares the files of a skill with those in the project.
func (f *field) compare(as string, rep rye.AddReport, s fieldcorpus.Skill, at map[string]fieldcorpus.File, nameOf func(string) string) {
	dir := filepath.Join(f.dir, filepath.FromSlash(rep.Path))
	for _, p := range s.Files {
		want, there := at[p]
		rel := strings.TrimPrefix(p, s.Dir+"/")
		if s.Dir == "." {
			rel = p
		}
		file := filepath.Join(dir, filepath.FromSlash(objects.NormalMember(rel)))
		if _, two := at[path.Join(s.Dir, "SKILL.md")]; !two && strings.EqualFold(rel, "SKILL.md") {
			file = filepath.Join(dir, "SKILL.md")
		}
		if !there {
			continue // git does not hold it
		}
		raw, err := os.ReadFile(file)
		st, _ := os.Stat(file)
		switch {
		case want.Link != "":
			if err != nil && (st == nil || !st.IsDir()) && nameOf(p) == "" {
				f.t.Errorf("%s: nothing names the link %q", as, p)
			}
		case err != nil:
			if nameOf(p) == "" {
				f.t.Errorf("%s: nothing names %q", as, p)
			}
		case string(raw) != string(want.Data) || (st.Mode()&0o111 != 0) != want.Exec:
			f.t.Errorf("%s: %q differs", as, p)
		}
	}
}

// origin compares the origin in the manifest of a bundle. Its tree is that of git itself.
func (f *field) origin(as string, rep rye.AddReport, source string) {
	raw := testkit.ReadFile(f.t, filepath.Join(f.dir, filepath.FromSlash(rep.Path), objects.ManifestName))
	m, err := objects.ParseManifest([]byte(raw))
	testkit.Must(f.t, err)
	want := rep.From
	if want == "." {
		want = ""
	}
	if as == "git" { // the path of a repository here is nobody else's business
		source = "file:field"
	}
	if m.Origin == nil || m.Origin.Source != source || m.Origin.Path != want {
		f.t.Fatalf("%s: %s from %q of %q has the origin %+v", as, rep.Ref, want, source, m.Origin)
	}
	if as == "git" && (m.Origin.Commit != f.commit || m.Origin.Tree != f.trees[want]) {
		f.t.Errorf("%s: commit %s and tree %s, git has %s and %s", rep.Ref, m.Origin.Commit, m.Origin.Tree, f.commit, f.trees[want])
	}
}

// treesOf returns git's id for every folder at HEAD.
func treesOf(t *testing.T, dir string) map[string]string {
	trees := map[string]string{"": testkit.Git(t, dir, "rev-parse", "HEAD^{tree}")}
	for line := range strings.SplitSeq(testkit.Git(t, dir, "ls-tree", "-r", "-d", "-z", "HEAD"), "\x00") {
		if meta, name, ok := strings.Cut(line, "\t"); ok {
			trees[name] = meta[strings.LastIndexByte(meta, ' ')+1:]
		}
	}
	return trees
}
