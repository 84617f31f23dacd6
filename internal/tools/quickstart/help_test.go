package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// helpWorld makes a home in which the examples of help can be typed: a project with the items
// that they name, a registry, keys, and the public keys of colleagues.
const helpWorld = `set -eu
mkdir project && cd project
rye init --namespace acme
rye key new work
for name in bob carol acme; do
  XDG_CONFIG_HOME=$HOME/$name RYE_USER=$HOME/$name rye key new $name
  XDG_CONFIG_HOME=$HOME/$name RYE_USER=$HOME/$name rye key show $name --ssh > $name.pub
done
mkdir $HOME/.ssh
ssh-keygen -q -t ed25519 -N '' -f $HOME/.ssh/laptop
cp $HOME/.ssh/laptop.pub laptop.pub
rye key export work --for laptop.pub -o $HOME/rye-key.age --yes
mkdir -p scripts .ai/tools/acme .ai/directives/acme ../site ../notes ../website ../shop ./project ./site ./shop ../old
tool() { printf '#!/usr/bin/env bash\n# version: 1.0.0\n# tool_type: bash\n# executor_id: rye/core/runtimes/bash_runtime\n# description: %s\n# needs: {read: [], write: [], net: []}\n%s\n' "$1" "$2"; }
tool 'Says hello' 'echo "$1"' > .ai/tools/acme/hello.sh
tool 'Resizes a picture' 'echo "$1"' > .ai/tools/acme/resize.sh
tool 'Deploys to staging' 'echo "$1"' > scripts/deploy.sh
cat > .ai/tools/acme/weather.yaml <<'END'
version: 1.0.0
tool_type: http
executor_id: rye/core/runtimes/http_runtime
description: Says how the weather is
env_config: {env: {WEATHER_KEY: ""}}
config: {url: "https://weather.example.org/today", headers: {X-Key: "${WEATHER_KEY}"}}
END
cat > review.md <<'END'
---
name: review
version: 1.0.0
description: Reviews a file
inputs: [{name: file, default: main.go}]
model: {provider: rye/agent/providers/mock}
limits: {turns: 8, spend: 0.5}
---
Read {input:file}.
END
cp review.md .ai/directives/acme/review.md
printf '{"name":"world"}\n' > input.json
echo 'package main' > main.go
rye add scripts/deploy.sh --kind tool --as acme/deploy
rye sign --all
rye registry init ../tools.git --namespace acme --name main
rye push tool:acme/hello
rye lock
rye thread start directive:acme/review --provider rye/agent/providers/mock --follow
`

// An ending is what an example of help comes to in helpWorld, where that is not success.
type ending struct {
	status int    // -1 for what is not run
	why    string // in words
}

// stands are what the examples write for what a reader has: in helpWorld it is this.
func stands(line string, world map[string]string) string {
	for _, s := range []string{"01k9", "1f2e3d4c", "5a6b7c8d", "ssh-ed25519 AAAA…", "SHA256:…", "sha256:…"} {
		line = strings.ReplaceAll(line, s, world[s])
	}
	return line
}

// TestHelpExamples types every example of every command's help, one after the other, in one home.
func TestHelpExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("builds both programs")
	}
	for _, p := range []string{"bash", "git"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("the examples use %s: %v", p, err)
		}
	}
	bin, home := built(t), t.TempDir()
	run := func(dir, script string) (string, int) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", script)
		cmd.Dir = filepath.Join(home, dir)
		cmd.Env = []string{"HOME=" + home, "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "LANG=C.UTF-8", "NO_COLOR=1", "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatalf("%s: %v", script, err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, status := run("", helpWorld); status != 0 {
		t.Fatalf("the world was not made: %d\n%s", status, out)
	}
	world := map[string]string{}
	for name, script := range map[string]string{
		"01k9":              `rye thread list --all --json | sed -n 's/.*"thread_id":"\([^"]*\)".*/\1/p' | tail -n 1`,
		"1f2e3d4c":          `rye log tool:acme/hello --json | sed -n 's/.*"commit":"\([0-9a-f]*\)".*/\1/p' | tail -n 1`,
		"5a6b7c8d":          `rye log tool:acme/hello --json | sed -n 's/.*"commit":"\([0-9a-f]*\)".*/\1/p' | head -n 1`,
		"ssh-ed25519 AAAA…": `cat bob.pub`,
		"SHA256:…":          `ssh-keygen -lf bob.pub | cut -d' ' -f2`,
		"sha256:…":          `rye trust --dry-run --json | sed -n 's/.*"digest":"\(sha256:[0-9a-f]*\)","parts.*/\1/p'`,
	} {
		out, status := run("project", script)
		if world[name] = strings.TrimSpace(out); status != 0 || out == "" {
			t.Fatalf("%s: %d %q", script, status, out)
		}
	}
	known, n := endings(), 0
	for _, line := range helpExamples(t) {
		want := known[line]
		if n++; want.status < 0 {
			continue
		}
		script := stands(line, world)
		if before := prepared[line]; before != "" {
			if out, status := run("project", "set -e\n"+before); status != 0 {
				t.Errorf("before %q: %d\n%s", line, status, out)
			}
		}
		out, status := run("project", script+" < /dev/null")
		if asks := status == 16 && strings.Contains(out, "this is not a terminal"); status != want.status && !asks {
			t.Errorf("%s\n\tends with %d, want %d %s\n%s", script, status, want.status, want.why, out)
		}
	}
	if n < 150 {
		t.Errorf("%d examples were found", n)
	}
}

// helpExamples are the examples of all commands, each once, in the order of the pages, which are
// written from the help itself.
func helpExamples(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob("../../../docs/cli/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		open := false
		for line := range strings.Lines(string(raw)) {
			line = strings.TrimRight(line, "\n")
			switch {
			case strings.HasPrefix(line, "```"):
				open = !open
			case open && !seen[line]:
				seen[line] = true
				all = append(all, line)
			}
		}
	}
	return all
}

// prepared is what is done before an example, so that there is what it is about.
var prepared = map[string]string{
	"rye registry ci --forge github > .github/workflows/rye.yml":              "mkdir -p .github/workflows",
	"rye add ./scripts/deploy.sh --kind tool --as acme/deploy":                "rye rm tool:acme/deploy",
	"rye add ./my-skills --as acme --dry-run":                                 "mkdir -p my-skills/pdf; printf -- '---\\nname: pdf\\ndescription: Fills in forms\\n---\\nText\\n' > my-skills/pdf/SKILL.md",
	"rye add ./report --entry run.py":                                         "mkdir -p report; printf 'print(1)\\n' > report/run.py; echo helper > report/words.txt",
	"rye show bundle:acme/report":                                             "rye restore bundle:acme/report",
	"rye verify ./unpacked":                                                   "cp -R .ai/bundles/acme/report unpacked",
	"rye export --check":                                                      "rye add my-skills --as acme; rye sign --all; rye export --to claude-code,codex --yes",
	"rye export skill knowledge:acme/pdf ./pdf":                               "rye add my-skills --as acme; rye sign --all",
	"rye add .ai/tools/acme/hello.py":                                         "rye rm tool:acme/hello; rye new tool acme/hello",
	"rye diff":                                                                "rye rm tool:acme/hello; rye restore tool:acme/hello --at $(rye log tool:acme/hello --json | sed -n 's/.*\"commit\":\"\\([0-9a-f]*\\)\".*/\\1/p' | tail -n 1); rye sign --all",
	"rye add tool:rye/bash/bash --space project --as acme/bash":               "rye rm tool:rye/bash/bash",
	"rye push 'tool:acme/*' --dry-run":                                        "rye rm bundle:acme/report",
	"rye push --all":                                                          "rye rm bundle:acme/pdf",
	"rye sign --all --check      # for CI: fail when something is not signed": "rye sign .ai/bundles/acme/report --yes",
	"rye lock": "rye rm tool:acme/bash; rye sign --all",
	"rye key rotate --project ../site --project ../notes":                         "rye init ../site; rye init ../notes",
	"rye lock merge base.lock ours.lock theirs.lock --dry-run":                    "for f in base ours theirs; do cp .ai/rye.lock $f.lock; done",
	"rye mcp -C ./project --project ../website":                                   "mkdir -p website; rye init website",
	"rye mv bundle:acme/report acme/summary --dry-run":                            "rye mv tool:acme/greet tool:acme/hello; rye sign --all; rye restore bundle:acme/report",
	"rye restore --all --dry-run":                                                 "rm .ai/tools/acme/hello.*",
	"rye new tool acme/hello":                                                     "rye rm tool:acme/hello",
	"rye new tool acme/deploy --lang bash":                                        "rye rm tool:acme/deploy",
	"rye new directive:acme/review":                                               "rye rm directive:acme/review",
	"rye policy explain tool:acme/deploy":                                         "rye rm tool:acme/deploy; rye add scripts/deploy.sh --kind tool --as acme/deploy; rye sign --all",
	"rye thread start directive:acme/review -p file=main.go --follow":             "cp review.md .ai/directives/acme/review.md; rye sign --all",
	"rye policy forget tool:acme/deploy --everywhere":                             "rye policy allow tool:acme/deploy",
	"rye push tool:acme/hello":                                                    "rye sign --all",
	"rye restore tool:acme/hello --at 1f2e3d4c     # see rye log tool:acme/hello": "rye rm tool:acme/hello",
	"rye trust explain tool:acme/hello":                                           "rye trust --yes; rye sign --all",
	"rye trust forget ../old":                                                     "rye trust --yes; rye init ../old; (cd ../old && rye trust)",
	"rye trust explain tool:acme/hello --json":                                    "rye trust --yes",
	"rye trust allowed-signers > ~/.config/git/allowed_signers":                   "mkdir -p ~/.config/git",
	"git config gpg.ssh.allowedSignersFile ~/.config/git/allowed_signers":         "git init -q .",
	"rye yank --undo acme/tool/hello@1.0.0":                                       "rye yank acme/tool/hello@1.0.0 --reason x",
}

// ended is how the examples end that do not succeed in helpWorld. What asks a person and has
// nobody to ask ends with 16, says so, and is not listed. What is listed and no longer an example
// does no harm.
var ended = []struct {
	status int // -1 for what is not run
	why    string
	lines  []string
}{
	{5, "needs a network host", []string{
		"rye add https://git.example.org/ada/tools.git#v2//skills/pdf", "rye add https://example.org --list", "rye registry add https://example.org/registry.git",
		"rye registry mirror add main https://mirror.example.org/registry.git", "rye registry grant acme --repository https://example.org/acme.git",
		"rye registry mirror push main --to https://mirror.example.org/registry.git --dry-run",
	}},
	{6, "needs a provider's key, and costs money", []string{
		"rye ask 'which tool resizes pictures?'", "rye ask --model high --spend 0.05 'explain directive:acme/review'",
	}},
	{6, "needs an ssh-agent; docs/keys.md has one", []string{"rye key import agent:SHA256:…"}},
	{3, "names a question that waits, of which there is none", []string{
		"rye approve 01kdyq3v8zj4w2n6p0r5s7t9ax", "rye deny 01kdyq3v8zj4w2n6p0r5s7t9ax",
	}},
	{-1, "is for another shell, or needs jq", []string{
		"rye completion fish | source", "rye thread log 01k9 --events | jq -r .event_type",
	}},
	{-1, "serves until it is interrupted", []string{"rye mcp serve", "rye mcp serve --http 127.0.0.1:8765"}},
	{3, "is for edits of copies, of which there are none", []string{"rye export --take"}},
	{3, "names what a run left, and here none did", []string{"rye restore --taken .vscode/tasks.json"}},
	{2, "names a program of the reader's", []string{"rye run acme/tide/scripts/tide.py -- --port Bergen"}},
	{3, "is for a bundle that came from a source", []string{"rye update acme/pdf"}},
	{11, "leaves out what helpWorld left unsigned", []string{"rye export --site ../www"}},
	{3, "names a file of the reader's", []string{"rye add skills.zip", "rye add skills-lock.json --dry-run"}},
	{11, "names a key that is not there", []string{"rye registry transfer acme 'ssh-ed25519 AAAA… <proof>' --dry-run"}},
	{11, "gives a namespace that the reader gave to another registry", []string{
		"rye registry init ./registry.git --namespace acme", "rye registry init https://example.org/registry.git --open",
	}},
	{4, "is about a log with a malformed operation", []string{"rye registry void acme 12", "rye registry void acme 12 --dry-run"}},
	{4, "is for somebody who has not yet what is there", []string{
		"rye add acme/tool/hello@^1.2", "rye pull acme/tool/hello@^1.2", "rye update acme/tool/hello", "rye update acme/tool/hello --diff", "rye key new", "rye init --project 3f0c9a1b8c2d4e5f60718293a4b5c6d7",
		"rye registry members acme --join",
		"rye registry members acme --threshold 2",
	}},
	{16, "finds what helpWorld left unsigned", []string{"rye audit --ci"}},
	{11, "leaves out what helpWorld left unsigned", []string{"rye export --plain ../files"}},
	{11, "is for the change of somebody else", []string{"rye trust patch tool:acme/hello"}},
	{10, "is for the change of somebody else", []string{"rye trust patch tool:acme/hello --digest sha256:… --yes"}},
	{3, "is for the change of somebody else", []string{"rye trust patch tool:acme/hello --remove"}},
	{11, "names a key that did not sign", []string{"rye trust restore ~/trust.backup --fingerprint SHA256:…"}},
	{16, "names the digest of the reader's policy", []string{"rye policy accept --sha256 sha256:2f05d4b6…"}},
	{3, "needs a git repository", []string{"rye policy accept --from origin/main", "rye resolve", "rye resolve tool:acme/hello", "rye resolve --dry-run"}},
	{2, "is run by git", []string{"rye registry hook"}},
	{3, "is about files of RYE OS, which docs/migrating.md has", []string{
		"rye lock import --dry-run", "rye lock import", "rye lock import old/.ai/lockfiles/acme/hello@1.0.0.lock.json", "rye key import ~/.ai/keys/private_key.pem",
		"rye trust import ~/.ai/trusted_keys --namespace leo --dry-run", "rye trust import 9fbfabe975fa5a7f.toml --namespace leo",
	}},
	{2, "is for a merge by git that stopped at a conflict", []string{"rye lock merge", "rye lock merge --prefer theirs"}},
	{3, "names a bundle, a configuration or a key file of the reader's", []string{
		"rye key import ~/.ssh/id_ed25519 work", "rye where --move ../old-name",
	}},
	{2, "names a package of the reader's, or reads a token from standard input", []string{
		"rye diff .ai/tools/acme/pack", "rye mcp install codex --http http://127.0.0.1:7777/mcp --token-file -",
	}},
	{3, "is about agreements that this tool does not need", []string{
		"rye policy allow tool:acme/deploy --env", "rye policy allow tool:acme/deploy --interpreter --forget", "rye policy allow tool:acme/weather --secrets",
	}},
	{3, "names a key, a registry or a ceremony that only its reader has", []string{
		"rye registry add ./registry.git --name acme --scope acme --identity sha256:…", "rye registry remove sha256:… --everywhere --dry-run",
		"rye registry members acme --retire SHA256:… --dry-run", "rye registry revoke-key acme SHA256:… --reason 'laptop stolen'",
		"rye registry revoke-key acme SHA256:… --from 12 --reason 'laptop stolen' --dry-run",
		"rye registry revoke-key acme SHA256:… SHA256:… --reason 'laptops stolen' --drop", "rye registry root approve registry-root-3.txt",
		"rye registry root commit registry-root-3.txt", "rye registry root remove SHA256:…", "rye registry root remove SHA256:… --threshold 1",
		"RYE_KEY=work rye registry root approve registry-root-3.txt", "rye trust pin SHA256:… --namespace acme --space project", "rye trust unpin SHA256:…",
		"rye trust unpin Bob --namespace tools", "rye trust deny sha256:… --share", "rye trust forget SHA256:…",
		"rye registry mirror remove main https://mirror.example.org/registry.git", "rye registry approve registry-acme-7.txt",
		"RYE_KEY=work rye registry approve registry-acme-7.txt --dry-run", "rye registry commit registry-acme-7.txt",
	}},
	{2, "would leave more holders needed than there are", []string{"rye registry root threshold 2"}},
	{11, "names the fingerprint that an owner told, and this one is another's; or comes without a proof", []string{
		"rye trust pin acme.pub --namespace acme", "rye trust pin acme.pub --namespace acme --fingerprint SHA256:…",
		"rye trust pin acme.pub --namespace acme --fingerprint SHA256:… --yes", "rye registry members acme --add 'ssh-ed25519 AAAA… <proof>'",
	}},
	{4, "is about a thread that still runs, or stopped; docs/threads.md has such", []string{
		"rye thread resume 01k9", "rye thread send 01k9 'look at the tests, too'", "rye thread send 01k9 --spend 0.50", "rye thread cancel 01k9",
		"rye thread kill 01k9", "rye thread resume 01k9 --follow", "rye thread resume 01k9 --message 'try the other file'",
	}},
}

// endings are those of ended, by example.
func endings() map[string]ending {
	all := map[string]ending{}
	for _, e := range ended {
		for _, line := range e.lines {
			all[line] = ending{e.status, e.why}
		}
	}
	return all
}
