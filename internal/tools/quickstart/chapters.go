package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

var chapters = []struct {
	title string
	play  func(context.Context, *world) error
}{
	{"1. A project, and four items in it", makeItems},
	{"2. Signing, and what a signature says", signItems},
	{"3. Executing: tool, runtime, primitive", executeItems},
	{"4. What is not signed does not run", refuseItems},
	{"5. A lock: tomorrow's run is today's", lockItems},
	{"6. A registry is a git repository", publish},
	{"7. Somebody else, elsewhere", install},
	{"8. Any model, over MCP", useMCP},
	{"9. Plain git reads all of it", readWithGit},
	{"10. A model follows a directive, within its limits", runThread},
}

// Exit codes, from docs/cli.md.
const (
	integrity = 10
	untrusted = 11
	denied    = 16
)

func makeItems(ctx context.Context, w *world) error {
	p := w.alice
	if err := p.all(ctx,
		[]string{"rye", "init", "--namespace", "acme"},
		[]string{"rye", "new", "tool", "acme/hello", "--lang", "python"},
		[]string{"rye", "new", "tool", "acme/count", "--lang", "bash"}); err != nil {
		return err
	}
	say("the scaffolds are complete items; alice now writes what they are to do")
	for _, f := range []struct{ path, content string }{
		{"project/.ai/tools/acme/hello.py", helloTool},
		{"project/.ai/tools/acme/count.sh", countTool},
		{"project/data/one.txt", "1\n"},
		{"project/data/two.txt", "2\n"},
		{"drafts/review.md", reviewDirective},
		{"drafts/style.md", styleKnowledge},
	} {
		if err := p.write(f.path, f.content); err != nil {
			return err
		}
	}
	if err := p.all(ctx,
		[]string{"rye", "add", "../drafts/review.md", "--kind", "directive", "--as", "acme/review"},
		[]string{"rye", "add", "../drafts/style.md", "--kind", "knowledge", "--as", "acme/style"}); err != nil {
		return err
	}
	_, err := p.run(ctx, outcome{words: []string{"unsigned"}}, "rye", "status")
	return err
}

func signItems(ctx context.Context, w *world) error {
	p := w.alice
	if err := p.all(ctx, []string{"rye", "sign", "--all"}, []string{"rye", "status"}); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(p.project, ".ai", "tools", "acme", "count.sh"))
	if err != nil {
		return err
	}
	p.show("\n" + strings.Join(strings.SplitN(string(text), "\n", 4)[:3], "\n"))
	say("the signature is one line of the file: time, digest of every other byte, Ed25519, fingerprint")
	_, err = p.run(ctx, outcome{words: []string{"SHA256:"}}, "rye", "verify", "--explain", "tool:acme/hello")
	return err
}

func executeItems(ctx context.Context, w *world) error {
	p := w.alice
	if _, err := p.run(ctx, outcome{words: []string{"2"}}, "rye", "execute", "tool:acme/count"); err != nil {
		return err
	}
	chain := []string{"acme/count", "rye/core/runtimes/bash_runtime", "rye/core/primitives/subprocess"}
	if _, err := p.run(ctx, outcome{words: chain}, "rye", "execute", "tool:acme/count", "--dry-run"); err != nil {
		return err
	}
	say("the tool names a runtime, the runtime a primitive; each link is verified before anything runs")
	if w.python == "" {
		say("there is no python3 on this machine: the Python tool is not executed")
		return nil
	}
	if _, err := p.run(ctx, outcome{words: []string{"Hello, world!"}}, "rye", "execute", "tool:acme/hello", "--params", `{"name": "world"}`); err != nil {
		return err
	}
	_, err := p.run(ctx, outcome{words: []string{`"cpu"`}}, "rye", "execute", "tool:rye/core/system/info", "--params", `{"sections": ["system", "cpu"]}`)
	return err
}

func refuseItems(ctx context.Context, w *world) error {
	p := w.alice
	if err := p.edit(".ai/tools/acme/count.sh", "-type f", "-type d"); err != nil {
		return err
	}
	fmt.Println("\nsomebody changes one byte of .ai/tools/acme/count.sh")
	if _, err := p.run(ctx, outcome{exit: integrity}, "rye", "execute", "tool:acme/count"); err != nil {
		return err
	}
	if _, err := p.run(ctx, outcome{words: []string{"-type d"}}, "rye", "diff", "tool:acme/count"); err != nil {
		return err
	}
	if err := p.all(ctx, []string{"rye", "restore", "tool:acme/count"}, []string{"rye", "execute", "tool:acme/count"}); err != nil {
		return err
	}
	if err := p.write("project/.ai/tools/acme/stranger.sh", strings.Replace(countTool, "Count the files", "Count what nobody signed", 1)); err != nil {
		return err
	}
	if _, err := p.run(ctx, outcome{exit: untrusted}, "rye", "execute", "tool:acme/stranger"); err != nil {
		return err
	}
	say("each refusal has its own exit code and names the command that mends it")
	return os.Remove(filepath.Join(p.project, ".ai", "tools", "acme", "stranger.sh"))
}

func lockItems(ctx context.Context, w *world) error {
	p := w.alice
	if err := p.all(ctx, []string{"rye", "lock"}, []string{"rye", "lock", "verify"}); err != nil {
		return err
	}
	_, err := p.run(ctx, outcome{words: []string{"2"}}, "rye", "execute", "tool:acme/count", "--locked")
	return err
}

func publish(ctx context.Context, w *world) error {
	h, err := w.startHost(ctx)
	if err != nil {
		return err
	}
	w.host = h
	fmt.Printf("\nan empty bare repository is served at %s by %s\n", h.url, h.how)
	p := w.alice
	if err := p.all(ctx,
		[]string{"rye", "registry", "init", h.url, "--namespace", "acme"},
		[]string{"rye", "push", "tool:acme/hello", "tool:acme/count", "directive:acme/review", "knowledge:acme/style", "--yes"}); err != nil {
		return err
	}
	if err := p.edit(".ai/tools/acme/hello.py", `"1.0.0"`, `"1.1.0"`); err != nil {
		return err
	}
	fmt.Println("\nalice raises the version of acme/hello to 1.1.0")
	if err := p.all(ctx, []string{"rye", "sign", "tool:acme/hello"}, []string{"rye", "push", "tool:acme/hello", "--yes"}); err != nil {
		return err
	}
	_, err = p.run(ctx, outcome{}, "rye", "registry", "log", "acme")
	return err
}

func install(ctx context.Context, w *world) error {
	p := w.bob
	if err := p.all(ctx, []string{"rye", "init"}); err != nil {
		return err
	}
	text, err := p.run(ctx, outcome{exit: denied, words: []string{"sha256:"}}, "rye", "registry", "add", w.host.url)
	if err != nil {
		return err
	}
	say("nobody is at the terminal to agree, so nothing is pinned; bob compares the id with the one alice told him")
	id := regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(text)
	if err := p.all(ctx,
		[]string{"rye", "registry", "add", w.host.url, "--id", id, "--yes"},
		[]string{"rye", "add", "acme/tool/hello", "acme/tool/count@^1.0", "--yes"},
		[]string{"rye", "execute", "tool:acme/count"}); err != nil {
		return err
	}
	if w.python != "" {
		if _, err := p.run(ctx, outcome{words: []string{"Hello, bob!"}}, "rye", "execute", "tool:acme/hello", "-p", "name=bob"); err != nil {
			return err
		}
	}
	_, err = p.run(ctx, outcome{words: []string{"acme/hello"}}, "rye", "search", "greet")
	return err
}

func readWithGit(ctx context.Context, w *world) error {
	if w.git == "" {
		say("there is no git on this machine; everything above was done without it")
		return nil
	}
	p := w.alice
	store, err := p.run(ctx, outcome{}, "rye", "where", "record")
	if err != nil {
		return err
	}
	store = strings.TrimSpace(store)
	if err := p.all(ctx,
		[]string{"git", "-C", store, "--no-pager", "log", "--oneline"},
		[]string{"git", "-C", store, "fsck", "--strict"},
		[]string{"git", "-C", w.host.dir, "--no-pager", "log", "--oneline", "ns/acme"},
		[]string{"git", "-C", w.host.dir, "fsck", "--strict"}); err != nil {
		return err
	}
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		say("there is no ssh-keygen on this machine: git cannot check signatures without it")
		return nil
	}
	signers, err := p.run(ctx, outcome{words: []string{"ssh-ed25519"}}, "rye", "trust", "allowed-signers")
	if err != nil {
		return err
	}
	file := filepath.Join(p.home, "allowed_signers")
	if err := os.WriteFile(file, []byte(signers), 0o600); err != nil {
		return err
	}
	for _, r := range []struct{ dir, rev string }{{store, "HEAD"}, {w.host.dir, "main"}, {w.host.dir, "ns/acme"}} {
		if _, err := p.run(ctx, outcome{words: []string{"Good"}},
			"git", "-C", r.dir, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+file, "verify-commit", r.rev); err != nil {
			return err
		}
	}
	say("what rye keeps and what it publishes are ordinary, signed git history")
	return nil
}
