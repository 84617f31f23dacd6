package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A peer is a program that people run, and what it is run for.
type peer struct {
	name  string
	uses  string            // programs that must be there
	files map[string]string // of the project, before
	run   string            // in the project
	prove string            // a line of what it prints
	least string            // needs with which it works, as refusals named them one after the other; "-" where it does not say what it was refused
	repo  bool              // the project is a repository of git's, too
	own   bool              // it reaches for a server of its own
	given string            // needs that its failing result named, where it does not work without; "" is none
}

const header = "#!/usr/bin/env bash\n# version: 1.0.0\n# tool_type: bash\n# executor_id: rye/core/runtimes/bash_runtime\n# category: acme\n# description: Runs a program.\n"

// light are programs that take less than a second.
var light = []peer{
	{name: "git in a subfolder", uses: "git",
		run:   "git init -q sub && cd sub && echo x >a && git add a && git -c user.name=a -c user.email=a@b commit -qm first && git log --format=%s",
		prove: "first", least: "{write: [.]}"},
	{name: "git in the project's own repository", uses: "git", repo: true, files: map[string]string{"a": "x\n"},
		run:   "cat a >/dev/null && git add a && git -c user.name=a -c user.email=a@b commit -qm first && git log --format=%s",
		prove: "first", least: "-", given: "{read: [.], write: [., .git]}"},
	{name: "a program of the person's, outside", run: "@TOOLS@/greet", prove: "greetings", least: "{read: [@TOOLS@/greet]}", given: "{read: [., @TOOLS@/greet], write: [.]}"},
	{name: "make", uses: "make", files: map[string]string{"in": "built\n", "Makefile": "build/out: in\n\tmkdir -p build\n\tcp in build/out\n\tcat build/out\n"},
		run: "cat Makefile in >/dev/null && make", prove: "built", least: "{read: [Makefile, in], write: [.]}"},
	{name: "a C compiler", uses: "cc", files: map[string]string{"hello.c": "#include <stdio.h>\nint main() { puts(\"hello\"); return 0; }\n"},
		run: "cc -o hello hello.c && ./hello", prove: "hello", least: "{read: [hello.c], write: [.]}"},
	{name: "sed -i", uses: "sed", files: map[string]string{"f.txt": "foo\n"},
		run: "cat f.txt && sed -i s/foo/bar/ f.txt && cat f.txt", prove: "bar", least: "{read: [f.txt], write: [.]}"},
	{name: "tar", uses: "tar gzip", files: map[string]string{"t/a": "inside\n"},
		run: "cat t/a && tar czf t.tgz t && mkdir out && tar xzf t.tgz -C out && cat out/t/a", prove: "inside", least: "{read: [t/a], write: [.]}"},
	{name: "cp -a, mv, rm -r, mkdir", files: map[string]string{"d/a": "kept\n"},
		run: "cp -a d d2 && mv d2 d3 && cat d3/a && rm -r d3 && mkdir new && rmdir new && ln -s d/a l && rm l && chmod 600 d/a && touch -d 2020-01-01 d/a", prove: "kept", least: "{read: [d], write: [.]}"},
	{name: "sqlite", uses: "python3",
		run:   "python3 -c 'import sqlite3; c = sqlite3.connect(\"db\"); c.execute(\"pragma journal_mode=wal\"); c.execute(\"create table x(a)\"); c.execute(\"insert into x values(42)\"); c.commit(); print(c.execute(\"select a from x\").fetchone()[0])' && ls db",
		prove: "42", least: "-"},
	{name: "$HOME and temporary files",
		run:   "echo x >$HOME/.rc && mkdir -p ~/.config/a && mktemp >/dev/null && echo x >/var/tmp/x && echo x >/dev/shm/x && cd ~ && echo in $PWD",
		prove: "in /tmp", least: "{}"},
	{name: "processes in Python", uses: "python3",
		files: map[string]string{"p.py": "import multiprocessing as m\nfrom multiprocessing import shared_memory\n" +
			"if __name__ == '__main__':\n    with m.Pool(2) as p: print(p.map(abs, [-1]))\n" +
			"    s = shared_memory.SharedMemory(create=True, size=9); s.buf[0] = 1; s.close(); s.unlink()\n" +
			"    with m.get_context('spawn').Pool(1) as p: print(p.map(abs, [-2]))\n"},
		run: "cat p.py >/dev/null && python3 p.py", prove: "[2]", least: "{read: [p.py]}"},
	{name: "a server of processes in Python", uses: "python3",
		files: map[string]string{"p.py": "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('forkserver').Pool(1) as p: print(p.map(abs, [-3]))\n    with m.Manager() as g: print(g.list([4]))\n"},
		run:   "cat p.py >/dev/null && python3 p.py", prove: "[4]", least: "{read: [p.py], net: [unix]}", given: "{read: [.], write: [.], net: [unix]}"},
	{name: "a terminal of its own", uses: "python3 script",
		run: "script -qec 'echo in a terminal; test -t 1' /dev/null && python3 -c 'import pty; pty.spawn([\"tty\"])'", prove: "/dev/pts/0", least: "{}"},
	{name: "certificates, locales, name service", uses: "python3",
		run: "python3 -c 'import ssl; assert ssl.create_default_context().get_ca_certs()' && locale -a >/dev/null && id -un >/dev/null && date >/dev/null && hostname", prove: "rye", least: "{}"},
	{name: "a server of its own", uses: "python3",
		run: "python3 -c 'import http.server, threading, urllib.request as u\ns = http.server.HTTPServer((\"127.0.0.1\", 0), http.server.BaseHTTPRequestHandler)\n" +
			"threading.Thread(target=s.handle_request, daemon=True).start()\ntry: u.urlopen(\"http://127.0.0.1:%d/\" % s.server_port)\n" +
			"except u.HTTPError as e: print(e.code)\nexcept OSError as e: raise SystemExit(\"connect 127.0.0.1:%d: %s\" % (s.server_port, e))'",
		prove: "501", least: "{}", own: true},
	{name: "Node", uses: "node",
		run:   `node -e 'const c = require("child_process"); console.log(c.execSync("echo by node").toString()); new (require("worker_threads").Worker)("0", {eval: true})'`,
		prove: "by node", least: "{}"},
	{name: "curl to this machine", uses: "curl", run: "curl -sS http://SERVER/", prove: "welcome",
		least: `{net: ["SERVER"]}`, given: `{read: [.], write: [.], net: ["SERVER"]}`},
}

// heavy are those that take longer.
var heavy = []peer{
	{name: "go build", uses: "go", files: goModule, run: goEnv + "cat go.mod main.go >/dev/null && go build -o hello . && ./hello", prove: "hello"},
	{name: "go test, with a server", uses: "go", files: goModule, run: goEnv + "cat go.mod main.go >/dev/null && go test -v ./...", prove: "--- PASS", own: true},
	{name: "npm install", uses: "npm node", files: map[string]string{"local/package.json": `{"name":"local","version":"1.0.0"}`, "local/index.js": "console.log('from the package')", "app/package.json": `{"name":"app","version":"1.0.0"}`},
		run: "(cd local && npm pack --silent) && cd app && npm install --offline --no-audit --no-fund ../local/local-1.0.0.tgz && node -e 'require(\"local\")'", prove: "from the package"},
	{name: "python -m venv", uses: "python3", run: "python3 -m venv v && v/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'", prove: "True"},
	{name: "pip install", uses: "python3", files: map[string]string{"pkg/pyproject.toml": "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n[project]\nname = \"hey\"\nversion = \"1\"\n", "pkg/hey/__init__.py": "x = 'installed'\n"},
		run: "python3 -m venv --system-site-packages v && v/bin/pip install -q --no-index --no-build-isolation ./pkg && v/bin/python -c 'import hey; print(hey.x)'", prove: "installed"},
	{name: "Java", uses: "java javac", files: map[string]string{"H.java": "public class H { public static void main(String[] a) throws Exception { System.out.println(java.io.File.createTempFile(\"rye\", \"x\").exists()); } }"},
		run: "javac H.java && java -cp . H", prove: "true"},
	{name: "a large tree with tar", uses: "tar", run: "tar cf - /usr/share/doc 2>/dev/null | tar xf - && ls usr/share", prove: "doc"},
}

const goEnv = "export PATH=$PATH:/usr/local/go/bin GOPROXY=off GOFLAGS=-mod=mod GOTOOLCHAIN=local; "

var goModule = map[string]string{
	"go.mod": "module example.org/hello\n\ngo 1.21\n", "main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n",
	"main_test.go": "package main\n\nimport (\n\t\"net/http\"\n\t\"net/http/httptest\"\n\t\"testing\"\n)\n\nfunc TestIt(t *testing.T) {\n\ts := httptest.NewServer(http.NotFoundHandler())\n\tdefer s.Close()\n" +
		"\tif _, err := http.Get(s.URL); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n",
}

// absent returns the first program of a list that is not here.
func (p *peer) absent() string {
	for _, name := range strings.Fields(p.uses) {
		if _, err := exec.LookPath(name); err != nil && !exists("/usr/local/go/bin/"+name) {
			return name
		}
	}
	return ""
}

// performed is what came of one run of a peer.
type performed struct {
	ok     bool
	text   string
	denied []struct{ What, Need string }
}

// perform runs a peer in a project of its own, with these needs; "" is an item that states none.
func (p *peer) perform(h *home, needs, server string) (r performed) {
	h.t.Helper()
	text := header
	if needs != "" {
		text += "# needs: " + needs + "\n"
	}
	h.write(".ai/tools/acme/peer.sh", text+"set -e\n"+filled(h, p.run, server)+"\n")
	h.rye("sign", "tool:acme/peer")
	out, _ := h.command("execute", "tool:acme/peer", "--json", "--yes").Output()
	var res struct {
		Status   string
		Data     json.RawMessage
		Metadata struct {
			Sandbox string
			Denied  []struct{ What, Need string }
		}
	}
	if err := json.Unmarshal(out, &res); err != nil {
		h.t.Fatalf("%s: %v: %s", p.name, err, out)
	}
	if res.Metadata.Sandbox != "S3" {
		h.t.Fatalf("%s ran under %s", p.name, res.Metadata.Sandbox)
	}
	var data struct{ Stdout, Stderr string }
	if json.Unmarshal(res.Data, &data) != nil { // its output was JSON
		data.Stdout = string(res.Data)
	}
	ok := res.Status == "success" && slices.Contains(strings.Split(strings.ReplaceAll(data.Stdout, "\r", ""), "\n"), p.prove) ||
		res.Status == "success" && strings.HasPrefix(p.prove, "---") && strings.Contains(data.Stdout, p.prove)
	return performed{ok, data.Stdout + data.Stderr, res.Metadata.Denied}
}

// fresh is a project of this person's with the peer's files, and nothing of what it makes.
func (p *peer) fresh(h *home) *home {
	h.t.Helper()
	n, err := os.MkdirTemp(filepath.Dir(h.dir), "peer")
	if err != nil {
		h.t.Fatal(err)
	}
	in := *h
	in.dir = n
	in.give()
	in.rye("init", "--namespace", "acme")
	for name, text := range p.files {
		in.write(name, text)
	}
	if p.repo {
		if out, err := exec.Command("git", "init", "-q", in.dir).CombinedOutput(); err != nil {
			h.t.Fatalf("git: %s", out)
		}
	}
	in.write(".ai/tools/acme/peer.sh", header)
	in.write("../home/tools/greet", "#!/bin/sh\necho greetings\n")
	if err := os.Chmod(in.tools()+"/greet", 0o755); err != nil {
		h.t.Fatal(err)
	}
	in.give()
	return &in
}

// tools is a directory of programs in the person's home.
func (h *home) tools() string { return filepath.Join(h.variable("HOME"), "tools") }

// give makes all of a project the person's.
func (h *home) give() {
	if h.as == nil {
		return
	}
	err := filepath.WalkDir(h.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// filled puts addresses and places into a text.
func filled(h *home, text, server string) string {
	return strings.NewReplacer("SERVER", server, "@TOOLS@", h.tools()).Replace(text)
}

// named is the needs that the first denial with some names.
func (r performed) named() string {
	for _, d := range r.denied {
		if need, ok := strings.CutPrefix(d.Need, "needs: "); ok {
			return need
		}
	}
	return ""
}

// usual runs a peer without stating anything, and where it is refused with what the result
// names. It returns what it had to state.
func (p *peer) usual(t *testing.T, person *home, server string) (stated string) {
	r := p.perform(p.fresh(person), "", server)
	want := filled(person, p.given, server)
	if !r.ok {
		stated = r.named()
		if p.own && len(r.denied) > 0 && strings.Contains(r.denied[0].What, "with no net in its needs") {
			stated = want
		}
		if stated != want || want == "" {
			t.Errorf("%s: the result names %q, want %q: %+v\n%s", p.name, stated, want, r.denied, r.text)
			return stated
		}
		r = p.perform(p.fresh(person), stated, server)
	} else if want != "" {
		t.Errorf("%s works without what it was meant to need", p.name)
	}
	if !r.ok {
		t.Errorf("%s, stating %q: %+v\n%s", p.name, stated, r.denied, r.text)
	}
	return stated
}

// ladder begins with nothing and states, refusal by refusal, what it is told to.
func (p *peer) ladder(t *testing.T, person *home, server string) (needs string, rungs int) {
	h := p.fresh(person)
	for needs = "{}"; rungs < 8; rungs++ {
		r := p.perform(h, needs, server)
		if r.ok {
			return needs, rungs
		}
		next := r.named()
		if next == "" || next == needs {
			t.Errorf("%s, with %s: no way on: %+v\n%s", p.name, needs, r.denied, r.text)
			return needs, rungs
		}
		needs = next
	}
	t.Errorf("%s: refused even with %s", p.name, needs)
	return needs, rungs
}

// asUsers runs f for root, where root is who tests, and for an ordinary user.
func asUsers(t *testing.T, f func(t *testing.T, user string, h *home)) {
	needBash(t)
	if !namespaces() {
		t.Skip("no namespaces here")
	}
	if os.Geteuid() == 0 {
		t.Run("root", func(t *testing.T) { f(t, "root", newHome(t)) })
	}
	t.Run("user", func(t *testing.T) {
		h := newHome(t)
		h.ordinary()
		f(t, "ordinary user", h)
	})
}

func welcoming(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "welcome") }))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// TestPrograms: what people run works in the sandbox as it is, as root and as an ordinary
// user: most without stating anything, some with what the result of the first try names. And
// from nothing, each refusal names the next thing that is needed, until it works.
func TestPrograms(t *testing.T) {
	t.Setenv("TMPDIR", disk) // shared memory is not outside of a tool's view, as a person's files are
	server := welcoming(t)
	asUsers(t, func(t *testing.T, user string, h *home) {
		for _, p := range light {
			if no := p.absent(); no != "" {
				t.Logf("%-14s %-36s absent: %s", user, p.name, no)
				continue
			}
			stated := p.usual(t, h, server)
			needs, rungs := "-", 0
			if p.least != "-" && user != "root" {
				needs, rungs = p.ladder(t, h, server)
			}
			if want := filled(h, p.least, server); needs != "-" && needs != want {
				t.Errorf("%s works with %s, want %s", p.name, needs, want)
			}
			t.Logf("%-14s %-36s as it is: %-40s least, in %d steps: %s", user, p.name, strings.TrimSpace(stated+" ok"), rungs, needs)
		}
	})
}

// TestPeers is make peers: programs that take their time, each without stating anything or
// with what the result named. RYE_PEERS is 1 for all of them, or a part of the names of some.
func TestPeers(t *testing.T) {
	if os.Getenv("RYE_PEERS") == "" {
		t.Skip("make peers")
	}
	t.Setenv("TMPDIR", disk)
	server := welcoming(t)
	asUsers(t, func(t *testing.T, user string, h *home) {
		for _, p := range slices.Concat(light, heavy) {
			if f := os.Getenv("RYE_PEERS"); f != "1" && !strings.Contains(p.name, f) {
				continue
			}
			if no := p.absent(); no != "" {
				t.Logf("%-14s %-36s absent: %s", user, p.name, no)
				continue
			}
			begun, failed := time.Now(), t.Failed()
			stated := p.usual(t, h, server)
			result := "ok"
			if t.Failed() && !failed {
				result = "FAILED"
			}
			t.Logf("%-14s %-36s %-28s %-7s %6.2fs  %s", user, p.name, version(p.uses), result, time.Since(begun).Seconds(), stated)
		}
	})
}

// version is what the first of these programs says of itself.
func version(uses string) string {
	name, _, _ := strings.Cut(uses, " ")
	if name == "" {
		name = "cp"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		path = filepath.Join("/usr/local/go/bin", name)
	}
	arg := "--version"
	if name == "go" {
		arg = "version"
	}
	out, _ := exec.Command(path, arg).CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line[:min(len(line), 28)]
}
