package main_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rye-os/rye"

// TestGoInstall installs this tree as people install a release, from a module proxy
// that is a directory, and without the Makefile's flags: programs of one version accept
// each other and refuse others. It takes half a minute when the build cache is cold;
// with RYE_SOAK the other program is a second release, too, and not only a build by
// other means.
func TestGoInstall(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the programs anew")
	}
	p := newProxy(t)
	p.release(t, "v0.1.0-test1")
	one := p.install(t, "cmd/...@v0.1.0-test1")
	rye := filepath.Join(one, filepath.Base(program("rye")))
	at := t.TempDir()

	out, _, exit := runInstalled(t, at, "", rye, "version")
	if exit != 0 || out != "rye v0.1.0-test1\n" {
		t.Errorf("rye version: exit %d, %q", exit, out)
	}
	names, err := filepath.Glob(filepath.Join(one, "*"))
	if err != nil {
		t.Fatal(err)
	}
	_, build, _ := strings.Cut(installedBuild(t, at, rye), `"build_id":"`)
	build, _, _ = strings.Cut(build, `"`)
	if !strings.HasPrefix(build, "v0.1.0-test1+h1:") {
		t.Errorf("rye is build %q", build)
	}
	for _, name := range names {
		if name == rye {
			continue
		}
		if out, _, exit := runInstalled(t, at, "", name, "--build-id"); exit != 0 || strings.TrimSpace(out) != build {
			t.Errorf("%s --build-id: exit %d, %q, want %q", name, exit, out, build)
		}
	}
	if len(names) < 2 {
		t.Errorf("installed: %q", names)
	}
	runInstalled(t, at, "", rye, "key", "new")
	out, _, _ = runInstalled(t, at, "", rye, "doctor", "--json") // may miss other programs here
	if !strings.Contains(out, `{"name":"engine","ok":true,`) || !strings.Contains(out, `{"name":"path","ok":true,`) {
		t.Errorf("rye doctor:\n%s", out)
	}
	if out, errs, exit := runInstalled(t, at, initialize, rye, "mcp"); exit != 0 || !strings.Contains(out, `"version":"v0.1.0-test1"`) {
		t.Errorf("rye mcp: exit %d, %s%s", exit, out, errs)
	}

	others := map[string]string{"made by other means": bin}
	if os.Getenv("RYE_SOAK") != "" {
		p.release(t, "v0.1.0-test2")
		others["of another version"] = p.install(t, "cmd/rye-engine@v0.1.0-test2")
	}
	for what, dir := range others {
		engine := filepath.Base(program("rye-engine"))
		copyFile(t, filepath.Join(dir, engine), filepath.Join(one, engine))
		_, errs, exit := runInstalled(t, at, initialize, rye, "mcp")
		if exit != 4 || !strings.Contains(errs, "must come from one build") || !strings.Contains(errs, "rye: hint: go install "+module+"/cmd/...@latest\n") {
			t.Errorf("an engine %s: exit %d\n%s", what, exit, errs)
		}
		out, _, exit = runInstalled(t, at, "", rye, "doctor", "--json")
		if exit == 0 || !strings.Contains(out, `{"name":"engine","ok":false,`) {
			t.Errorf("rye doctor beside an engine %s: exit %d\n%s", what, exit, out)
		}
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}` + "\n"

// runInstalled runs a program in the way of somebody who has only what was installed.
func runInstalled(t *testing.T, home, stdin, path string, args ...string) (out, errs string, exit int) {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Dir = home
	cmd.Env = append(cleanEnv(), "HOME="+home, "USERPROFILE="+home, "APPDATA="+home, "LOCALAPPDATA="+home,
		"PATH="+filepath.Dir(path)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var o, e strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &o, &e
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

func installedBuild(t *testing.T, home, rye string) string {
	out, _, _ := runInstalled(t, home, "", rye, "version", "--json")
	return out
}

// cleanEnv is the environment without what would lead a program elsewhere.
func cleanEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "RYE_") || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "GO") || name == "USER_SPACE"
	})
}

// proxy is a module proxy made of files, in the layout of go help goproxy.
type proxy struct {
	dir, cache string // of the proxy, and of the modules that are taken from it
	users      string // the module cache of whoever runs this test, which is only read
	builds     string // the build cache, which is shared: it is what makes this quick
	versions   []string
}

func newProxy(t *testing.T) *proxy {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	out, err := exec.Command("go", "env", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Fields(string(out))
	if len(dirs) != 2 {
		t.Fatalf("go env: %q", out)
	}
	p := &proxy{dir: t.TempDir(), cache: t.TempDir(), users: dirs[0], builds: dirs[1]}
	if err := p.borrow(); err != nil {
		t.Logf("the required modules are unpacked anew: %v", err)
	}
	return p
}

// borrow links the user's unpacked modules into the cache of this test, except those of rye, since
// to unpack them again takes longer than the rest of the test.
func (p *proxy) borrow() error {
	owner := strings.Split(module, "/")[:2] // github.com, and who publishes rye there
	for _, dir := range []string{"", filepath.Join("cache", "download")} {
		for _, skip := range owner {
			if err := os.MkdirAll(filepath.Join(p.cache, dir), 0o755); err != nil {
				return err
			}
			names, err := os.ReadDir(filepath.Join(p.users, dir))
			if err != nil {
				return err
			}
			for _, e := range names {
				if e.Name() == skip || e.Name() == "cache" || !e.IsDir() {
					continue
				}
				if err := os.Symlink(filepath.Join(p.users, dir, e.Name()), filepath.Join(p.cache, dir, e.Name())); err != nil {
					return err
				}
			}
			dir = filepath.Join(dir, skip)
		}
	}
	return nil
}

// release puts this tree into the proxy as a version.
func (p *proxy) release(t *testing.T, version string) {
	root := filepath.Join("..", "..")
	at := filepath.Join(p.dir, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	p.versions = append(p.versions, version)
	for name, text := range map[string]string{
		"list":            strings.Join(p.versions, "\n") + "\n",
		version + ".info": fmt.Sprintf(`{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version),
		version + ".mod":  string(mod),
	} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	if err := pack(z, root, module+"@"+version+"/"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// pack writes the files of the tree at root into z, without what make leaves there.
func pack(z *zip.Writer, root, prefix string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && isModule(path) { // another module, as go has it
			return filepath.SkipDir
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case slices.Contains([]string{".git", "bin", "dist", "man"}, rel) && d.IsDir():
			return filepath.SkipDir
		case !d.Type().IsRegular() || rel == ".git": // a file in a second working tree
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: prefix + filepath.ToSlash(rel), Method: zip.Store})
		if err == nil {
			_, err = w.Write(raw)
		}
		return err
	})
}

// install runs go install and returns the directory of the programs. It needs no
// network: what rye requires comes out of the user's module cache, as from a proxy.
// -trimpath names files by module and version, so that what is compiled here is found
// in the build cache again; -s leaves out tables for debuggers, which take half of the link's time.
func (p *proxy) install(t *testing.T, what string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "install", module+"/"+what)
	cmd.Dir = dir
	cmd.Env = append(cleanEnv(), "GOBIN="+dir, "GOMODCACHE="+p.cache, "GOCACHE="+p.builds, "GOENV=off", "GOTOOLCHAIN=local",
		"GOPROXY="+fileURL(p.dir)+","+fileURL(filepath.Join(p.users, "cache", "download")), "GOSUMDB=off", "GOVCS=*:off",
		"GOFLAGS=-modcacherw -trimpath -ldflags=-s", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go install %s: %v\n%s", what, err, out)
	}
	return dir
}

func fileURL(path string) string { return "file:///" + strings.TrimPrefix(filepath.ToSlash(path), "/") }

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be running, or be a link
		t.Fatal(err)
	}
	if err := os.WriteFile(to, raw, 0o755); err != nil {
		t.Fatal(err)
	}
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
