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

// The story: two people, each with a home, a project of theirs on a git host, and a model.
var chapters = []struct {
	title string
	play  func(context.Context, *world) error
}{
	{"1. Alice writes a tool. It runs when she has signed it", begin},
	{"2. She publishes it in a git repository, pins what it runs with, and shares the project", publish},
	{"3. Bob clones the project. Nothing in it runs before he agrees", join},
	{"4. Bob counts only texts, Alice describes the tool anew. Git merges, and an owner signs", merge},
	{"5. Somebody changes a byte", tamper},
	{"6. A model uses it over MCP", useMCP},
	{"7. A thread follows a directive within its limits, and plain git reads all of it", runThread},
}

// Exit codes, from docs/cli.md.
const (
	integrity = 10
	untrusted = 11
)

// countPath is the tool's file in a project.
const countPath = ".ai/tools/acme/count.sh"

func begin(ctx context.Context, w *world) error {
	p := w.alice
	if w.git != "" {
		for _, dir := range []string{p.project, w.shared()} {
			args := []string{w.git, "init", "--quiet", "--initial-branch=main", dir}
			if dir != p.project {
				args = append(args, "--bare")
			}
			if out, err := p.command(ctx, args...).CombinedOutput(); err != nil {
				return fmt.Errorf("git init: %w: %s", err, out)
			}
		}
	}
	for _, name := range []string{"one.txt", "two.txt"} {
		if err := os.MkdirAll(filepath.Join(p.project, "data"), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(p.project, "data", name), []byte("1\n"), 0o644); err != nil {
			return err
		}
	}
	if _, err := p.run(ctx, outcome{lines: 1}, "rye", "init", "--namespace", "acme"); err != nil {
		return err
	}
	if err := p.write("project/"+countPath, countTool); err != nil {
		return err
	}
	p.show(countTool, 0)
	if _, err := p.run(ctx, outcome{exit: untrusted}, "rye", "run", "tool:acme/count"); err != nil {
		return err
	}
	if _, err := p.run(ctx, outcome{}, "rye", "sign", "tool:acme/count"); err != nil {
		return err
	}
	_, err := p.run(ctx, outcome{words: []string{"2"}}, "rye", "run", "tool:acme/count")
	return err
}

func publish(ctx context.Context, w *world) error {
	h, err := w.startHost(ctx)
	if err != nil {
		return err
	}
	w.host = h
	p := w.alice
	if _, err := p.run(ctx, outcome{lines: 2}, "rye", "registry", "init", h.url, "--namespace", "acme"); err != nil {
		return err
	}
	if _, err := p.run(ctx, outcome{}, "rye", "push", "tool:acme/count", "--yes"); err != nil {
		return err
	}
	if _, err := p.run(ctx, outcome{lines: 1}, "rye", "lock"); err != nil {
		return err
	}
	if w.git == "" {
		return nil
	}
	return p.chain(ctx,
		[]string{"git", "add", "."},
		[]string{"git", "commit", "-qm", "a tool that counts"},
		[]string{"git", "push", "-q", w.shared(), "main"})
}

func join(ctx context.Context, w *world) error {
	p := w.bob
	if w.git == "" {
		return p.install(ctx)
	}
	if _, err := p.run(ctx, outcome{}, "git", "clone", "-q", w.shared(), "."); err != nil {
		return err
	}
	if _, err := p.run(ctx, outcome{exit: untrusted}, "rye", "run", "tool:acme/count"); err != nil {
		return err
	}
	text, err := p.run(ctx, outcome{lines: 3}, "rye", "trust", "--dry-run")
	if err != nil {
		return err
	}
	statement := regexp.MustCompile(`statement +(sha256:[0-9a-f]{64})`).FindStringSubmatch(text)
	if statement == nil {
		return fmt.Errorf("rye trust --dry-run prints no digest of the statement")
	}
	w.say("at a terminal rye asks; here bob gives the digest of what he read")
	if _, err := p.run(ctx, outcome{lines: 1}, "rye", "trust", "--accept", statement[1]); err != nil {
		return err
	}
	if _, err = p.run(ctx, outcome{lines: 1}, "rye", "fetch"); err != nil {
		return err
	}
	_, err = p.run(ctx, outcome{words: []string{"2"}}, "rye", "run", "tool:acme/count", "--locked")
	return err
}

// install is join for a machine without git: the tool comes from the registry.
func (p *person) install(ctx context.Context) error {
	p.w.say("there is no git on this machine, so bob takes the tool from the registry")
	if _, err := p.run(ctx, outcome{lines: 1}, "rye", "init"); err != nil {
		return err
	}
	text, err := p.run(ctx, outcome{exit: 16, words: []string{"sha256:"}}, "rye", "registry", "add", p.w.host.url)
	if err != nil {
		return err
	}
	id := regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(text)
	p.w.say("bob compares the id with the one that alice told him")
	return p.all(ctx,
		[]string{"rye", "registry", "add", p.w.host.url, "--id", id, "--yes"},
		[]string{"rye", "add", "acme/tool/count", "--yes"},
		[]string{"rye", "run", "tool:acme/count"})
}

func merge(ctx context.Context, w *world) error {
	if w.git == "" {
		w.say("left out, because there is no git on this machine")
		return nil
	}
	a, b := w.alice, w.bob
	if err := b.edit(countPath, "-type f", "-name '*.txt'"); err != nil {
		return err
	}
	if _, err := b.run(ctx, outcome{lines: 1}, "rye", "key", "new"); err != nil {
		return err
	}
	if _, err := b.run(ctx, outcome{words: []string{"patched"}}, "rye", "sign", "tool:acme/count"); err != nil {
		return err
	}
	if err := b.chain(ctx, []string{"git", "commit", "-qam", "count texts"}, []string{"git", "push", "-q", "origin", "HEAD:bob"}); err != nil {
		return err
	}
	if err := a.edit(countPath, "Count the files of the project's data", "Count the texts"); err != nil {
		return err
	}
	if _, err := a.run(ctx, outcome{}, "rye", "sign", "tool:acme/count"); err != nil {
		return err
	}
	if err := a.chain(ctx, []string{"git", "commit", "-qam", "describe it"}, []string{"git", "pull", "-q", "--no-rebase", "--no-edit", w.shared(), "bob"}); err != nil {
		return err
	}
	if _, err := a.run(ctx, outcome{words: []string{"+find data -name", "git merged it"}, lines: 3}, "rye", "review", "--dry-run"); err != nil {
		return err
	}
	_, err := a.run(ctx, outcome{}, "rye", "sign", "tool:acme/count", "--yes")
	return err
}

func tamper(ctx context.Context, w *world) error {
	p := w.alice
	if err := p.edit(countPath, "| wc -l", "| wc -c"); err != nil {
		return err
	}
	if _, err := p.run(ctx, outcome{exit: integrity}, "rye", "run", "tool:acme/count"); err != nil {
		return err
	}
	_, err := p.run(ctx, outcome{}, "rye", "restore", "tool:acme/count")
	return err
}

// runThread runs a thread, and reads its branch and the registry by git alone.
func runThread(ctx context.Context, w *world) error {
	p := w.alice
	for _, f := range []struct{ path, content string }{
		{"project/.ai/directives/acme/tally.md", tallyDirective},
		{"project/.ai/tools/acme/scripted.yaml", scriptedModel},
	} {
		if err := p.write(f.path, f.content); err != nil {
			return err
		}
	}
	if err := p.all(ctx, []string{"rye", "sign", "directive:acme/tally", "tool:acme/scripted"}); err != nil {
		return err
	}
	text, err := p.run(ctx, outcome{words: []string{"There are 2,", "failed: denied", "completed"}}, "rye", "thread", "start", "directive:acme/tally", "--follow")
	if err != nil {
		return err
	}
	w.say("the model is a script, asked as a real one is; what the directive does not permit was refused")
	id := regexp.MustCompile(`thread +([0-9a-z]{26})`).FindStringSubmatch(text)
	if id == nil {
		return fmt.Errorf("the thread has no id")
	}
	if w.git == "" {
		_, err = p.run(ctx, outcome{words: []string{"completed"}, lines: 4}, "rye", "thread", "log", id[1])
		return err
	}
	out, err := p.command(ctx, "rye", "where", "record").Output()
	if err != nil {
		return err
	}
	record := strings.TrimSpace(string(out))
	if _, err := p.run(ctx, outcome{words: []string{"turn 1"}, lines: 3}, "git", "-C", record, "log", "--format=%s", "threads/"+id[1]); err != nil {
		return err
	}
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		w.say("without ssh-keygen git cannot check signatures")
		return nil
	}
	_, err = p.run(ctx, outcome{words: []string{"Good"}, lines: 1}, "git", "-C", record, "-c", "gpg.format=ssh",
		"-c", "gpg.ssh.allowedSignersFile="+filepath.Join(filepath.Dir(record), "threads", "allowed_signers"), "verify-commit", "threads/"+id[1])
	return err
}
