//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/cli"
)

// The hostile clones: repositories that a stranger made, and an ordinary user who enters
// them and types commands. The user's home is full of canaries; what every command must
// leave as it was is all that lies outside of the clone, and what it must not do is to run
// a program, reach a listener, follow a link, or take long (see attempt).

// rooms are the commands that `make test` spreads over the trees, one for each thing that
// rye does in a project. Those that write come last. The whole product is every command
// of the manual, in every tree, with RYE_SOAK.
func rooms() [][]string {
	all := [][]string{
		{"status"}, {"verify"}, {"list", "--all"}, {"search", "hello"}, {"show", "tool:acme/hello"}, {"load", "directive:acme/greet"},
		{"execute", "tool:acme/hello"}, {"diff"}, {"log"}, {"sign", "--check", "--all"}, {"trust"}, {"lock", "verify"},
		{"fetch", "--offline"}, {"bundle", "list"}, {"doctor"}, {"fsck"}, {"gc"}, {"where", "--all"}, {"mcp"}, {"trust", "list"},
		{"policy", "explain", "tool:acme/hello"}, {"init"}, {"lock"}, {"pull"}, {"sign", "--all"},
	}
	known := map[string]bool{}
	for _, c := range manual() {
		known[strings.Fields(c.Name)[1]] = true
	}
	return slices.DeleteFunc(all, func(args []string) bool { return !known[args[0]] })
}

// manual lists the commands without others below them.
func manual() (all []cli.Command) {
	var add func([]cli.Command)
	add = func(list []cli.Command) {
		for _, c := range list {
			if len(c.Subs) == 0 || !strings.HasSuffix(c.Usage, "<command>") {
				all = append(all, c)
			}
			add(c.Subs)
		}
	}
	add(cli.Tree().Commands)
	return all
}

// everyCommand returns a call of every command of the manual, with something for each
// argument that it asks for, and then those of rooms, which write last.
func everyCommand() [][]string {
	var all [][]string
	for _, c := range manual() {
		if name := strings.TrimPrefix(c.Name, "rye "); name == "key rotate" || name == "key passphrase" || name == "key import" || name == "key new" {
			continue // they change the user's keys, as asked
		}
		args := strings.Fields(c.Name)[1:]
		for _, word := range strings.Fields(strings.NewReplacer("|", " ", "…", "", "...", "").Replace(c.Usage))[len(args)+1:] {
			if strings.HasPrefix(word, "<") {
				args = append(args, argumentFor(word))
				if !strings.HasSuffix(word, ">") || strings.Contains(c.Usage, "|") {
					break // the first of several forms
				}
			}
		}
		all = append(all, args)
	}
	return append(all, rooms()...)
}

func argumentFor(word string) string {
	for what, arg := range map[string]string{"<ref": "tool:acme/hello", "<new": "tool:acme/other", "<kind": "tool", "<id": "acme/pack", "<path": ".ai/tools/acme/hello.sh",
		"<query": "hello", "<url": "./registry.git", "<dir": ".ai/bundles/acme/pack", "<version": "acme/tool/hello@1.0.0", "<file": "AGENTS.md", "<key": "AGENTS.md"} {
		if strings.HasPrefix(word, what) {
			return arg
		}
	}
	return "acme/tool/hello"
}

// TestHostileClones runs commands in hostile trees. In `make test` each tree meets status
// and one more, so that every command meets several trees; with RYE_SOAK each tree meets
// every command.
func TestHostileClones(t *testing.T) {
	t.Parallel()
	trees := hostileClones()
	seen := map[string]bool{}
	for _, tree := range trees {
		if seen[tree.name] {
			t.Errorf("tree %q twice", tree.name)
		}
		seen[tree.name] = true
	}
	if len(trees) < 60 {
		t.Errorf("%d hostile trees, want 60", len(trees))
	}
	most := &figures{}
	next := make(chan int)
	var users sync.WaitGroup
	for range 2 {
		v := newVictim(t)
		users.Go(func() {
			for i := range next {
				v.visit(trees[i], samples(i), most)
			}
		})
	}
	for i := range trees {
		next <- i
	}
	close(next)
	users.Wait()
	t.Logf("%d trees, %d skipped here; %d commands; at most %v of processor time (%s) and %d MiB (%s)",
		len(trees), most.skipped, most.runs, most.cpu.Round(time.Millisecond), most.slowest, most.rss>>20, most.largest)
}

// samples returns what is typed in tree i.
func samples(i int) [][]string {
	if soak {
		return everyCommand()
	}
	all := rooms()
	return [][]string{all[0], all[1+i%(len(all)-1)]}
}

// figures are what commands took at most. They are safe for concurrent use.
type figures struct {
	mu               sync.Mutex
	runs, skipped    int
	cpu              time.Duration
	rss              int64
	slowest, largest string
}

func (f *figures) note(what string, r attemptResult) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs++
	if r.CPU > f.cpu {
		f.cpu, f.slowest = r.CPU, what
	}
	if r.RSS > f.rss {
		f.rss, f.largest = r.RSS, what
	}
}

// What one command may take. The most that one needs is 0.7 s, where nothing else happens; what
// these bounds catch takes minutes.
const (
	attemptCPU = 8 * time.Second
	attemptRSS = 256 << 20
)

// visit makes a tree and runs commands in it.
func (v *victim) visit(tree hostileClone, commands [][]string, most *figures) {
	c := v.clone(tree)
	if c == nil {
		most.mu.Lock()
		most.skipped++
		most.mu.Unlock()
		return
	}
	defer c.remove()
	for _, args := range commands {
		what := fmt.Sprintf("%s: rye %s", tree.name, strings.Join(args, " "))
		before := v.outside()
		_, none := os.Lstat(filepath.Join(c.cwd(), ".ai", "rye.yaml"))
		r := v.attempt(c, args)
		most.note(what, r)
		if r.Exit == 1 && strings.Contains(r.Out, "this is a bug") || strings.Contains(r.Out, "goroutine ") || r.Exit < 0 {
			v.t.Errorf("%s: status %d\n%.3000s", what, r.Exit, r.Out)
		}
		if r.CPU > attemptCPU || r.RSS > attemptRSS || r.Late {
			v.t.Errorf("%s: took %v of processor time and %d MiB (ended in time: %v)", what, r.CPU, r.RSS>>20, !r.Late)
		}
		if called := v.called(); called != "" {
			v.t.Errorf("%s: it ran or reached\n%s", what, called)
		}
		may := believing(args, none != nil)
		if before, after := withoutTrust(before, may), withoutTrust(v.outside(), may); after != before {
			v.t.Errorf("%s: changed files outside of the tree:\n%s", what, changed(before, after))
		}
		if tree.exit != nil {
			if want := tree.exit(args); len(want) > 0 && !slices.Contains(want, r.Exit) {
				v.t.Errorf("%s: status %d, want one of %v\n%.1000s", what, r.Exit, want, r.Out)
			}
		}
	}
}

// TestVictimNotices: what the suite looks for is seen when it happens.
func TestVictimNotices(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	if called := v.called(); called != "" {
		t.Fatalf("before anything: %s", called)
	}
	for what, script := range map[string]string{
		"a program":       "git status",
		"a connection":    "exec 3<>/dev/tcp/" + strings.Replace(v.where, ":", "/", 1),
		"a changed file":  "echo more >> " + filepath.Join(v.top, "beyond", "victim.txt"),
		"a touched file":  "touch -d 2001-01-01 " + filepath.Join(v.top, "home", ".bashrc"),
		"a new file":      "echo > " + filepath.Join(v.top, "home", "letters", "two.txt"),
		"a strange cache": "mkdir -p $HOME/.cache/rye && echo > $HOME/.cache/rye/payload",
		"a removed file":  "rm " + filepath.Join(v.top, "beyond", "dir", "one.md"),
	} {
		before := v.outside()
		if err := v.ask.Encode(attemptRequest{Args: []string{"/bin/bash", "-c", "PATH=$PATH:/usr/bin:/bin; " + script}, Dir: v.top, Env: v.env}); err != nil {
			t.Fatal(err)
		}
		var r attemptResult
		if err := v.answer.Decode(&r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // until the listener has counted
		if v.called() == "" && changed(before, v.outside()) == "" {
			t.Errorf("%s was not noticed: %+v", what, r)
		}
	}
}

// beliefs are the commands with which a person says whom to believe: those change the
// trust store, as they are asked to.
var beliefs = []string{"registry init", "registry add", "registry remove", "trust pin", "trust key", "trust unpin", "trust forget", "trust import", "trust deny", "trust allow", "trust override"}

// believing reports whether a command is there to change what the person believes. So is
// an init that makes a project where there is none: the person's key counts in it.
func believing(args []string, noProject bool) bool {
	return len(args) > 1 && slices.Contains(beliefs, args[0]+" "+args[1]) || args[0] == "init" && noProject
}

// withoutTrust takes the trust store out of a listing, where it may change.
func withoutTrust(listing string, may bool) string {
	if !may {
		return listing
	}
	var b strings.Builder
	for line := range strings.Lines(listing) {
		if !strings.HasPrefix(line, "home/.config/rye ") && !strings.HasPrefix(line, "home/.config/rye/trust.yaml") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// changed shows the lines that two listings do not share.
func changed(before, after string) string {
	was, is := map[string]bool{}, map[string]bool{}
	var b strings.Builder
	for line := range strings.Lines(before) {
		was[line] = true
	}
	for line := range strings.Lines(after) {
		if is[line] = true; !was[line] {
			b.WriteString("+ " + line)
		}
	}
	for line := range strings.Lines(before) {
		if !is[line] {
			b.WriteString("- " + line)
		}
	}
	return b.String()
}

// attemptRequest is one command that the servant of a victim is to run.
type attemptRequest struct {
	Args  []string
	Dir   string
	Env   []string
	Stdin string
}

type attemptResult struct {
	Exit int // -1 when a signal ended it
	CPU  time.Duration
	RSS  int64 // bytes; at least what the servant itself has
	Out  string
	Late bool // it had to be killed
}

// servantEnv makes this test program run what it is told to, one command after the other,
// as the user who started it. It is small, so that what its children take at most is theirs.
const servantEnv = "RYE_TEST_SERVANT"

func servant() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var q attemptRequest
		if in.Decode(&q) != nil {
			return
		}
		out.Encode(serve(q))
	}
}

const mcpTalk = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search","arguments":{"query":"hello","project_path":"."}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"load","arguments":{"item_type":"tool","item_id":"acme/hello"}}}
`

// attempt runs one command in a clone.
func (v *victim) attempt(c *clone, args []string) attemptResult {
	q := attemptRequest{Args: append([]string{program("rye")}, args...), Dir: c.cwd(), Env: v.env}
	if args[0] == "mcp" {
		q.Stdin = mcpTalk
	}
	if err := v.ask.Encode(q); err != nil {
		v.t.Fatal(err)
	}
	var r attemptResult
	if err := v.answer.Decode(&r); err != nil {
		v.t.Fatalf("rye %s: the servant died: %v", strings.Join(args, " "), err)
	}
	return r
}

// clone is a hostile tree that stands on disk.
type clone struct {
	v   *victim
	dir string
	sub string // the working directory below dir; "" for dir
	no  string // why there is none
}

func (c *clone) cwd() string { return filepath.Join(c.dir, c.sub) }
