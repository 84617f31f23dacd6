package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// counter is the text of a tool as a model without files sends it.
const counter = `#!/usr/bin/env bash
# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Count
# needs: {read: [.], write: [], net: []}
echo "counted $RYE_PARAM_WHAT"
`

func proposal(id, content string, more ...string) map[string]any {
	args := map[string]any{"item_type": "tool", "item_id": id, "content": content}
	for i := 0; i+1 < len(more); i += 2 {
		args[more[i]] = more[i+1]
	}
	return args
}

// tree lists the files below .ai, with what they hold.
func (h *home) tree() string {
	var b strings.Builder
	filepath.WalkDir(filepath.Join(h.dir, ".ai"), func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			raw, _ := os.ReadFile(p)
			b.WriteString(p + "\n" + string(raw) + "\n")
		}
		return nil
	})
	return b.String()
}

// TestProposal: a client without files makes a tool, runs it, changes it and runs that.
func TestProposal(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	h.lists("test")
	w := h.speak(t, `{"elicitation":{}}`)
	before := h.tree()
	w.yes = false
	if r := w.call("sign", proposal("acme/count", counter)); !r.failed || !strings.Contains(r.facts, `"approval":"declined"`) || strings.Contains(r.facts, "hint") {
		t.Errorf("a person said no: %s", r.facts)
	}
	if after := h.tree(); after != before {
		t.Errorf("a person said no, yet there is\n%s", after)
	}
	w.yes = true
	w.call("sign", proposal("acme/count", counter))
	asked := w.asked[len(w.asked)-1]
	if i, j := strings.Index(asked, "needs    read .; write nothing; net nothing"), strings.Index(asked, "+echo"); i < 0 || j < i {
		t.Errorf("what it may do does not come before its text: %s", asked)
	}
	if !strings.Contains(asked, "\nin "+h.dir+"\n") {
		t.Errorf("the question does not say where: %s", asked)
	}
	sum := regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	if shown, signed := sum.FindString(asked), sum.FindString(w.last.facts); shown == "" || shown != signed {
		t.Errorf("the question names %s, the answer %s", shown, signed)
	}
	if r := w.call("execute", map[string]any{"item_type": "tool", "item_id": "acme/count", "parameters": map[string]any{"what": "sheep"}}); r.text != "counted sheep\n" {
		t.Errorf("it runs: %s %s", r.facts, r.text)
	}
	w.yes = false
	args := proposal("acme/count", counter, "source", "user")
	if w.call("sign", args); !strings.Contains(w.asked[len(w.asked)-1], "in your user space, which all your projects use") {
		t.Errorf("the question does not say where: %s", w.asked[len(w.asked)-1])
	}
	w.yes = true
	// What load gave is edited and sent back, with its signature line.
	text := w.call("load", map[string]any{"item_type": "tool", "item_id": "acme/count", "detail": true}).text
	if loaded := sum.FindString(w.last.facts); loaded != sum.FindString(asked) {
		t.Errorf("load names %s", loaded)
	}
	text = strings.Replace(strings.Replace(text, "counted", "numbered", 1), "net: []", `net: ["*"]`, 1)
	w.call("sign", proposal("acme/count", text))
	asked = w.asked[len(w.asked)-1]
	if !strings.Contains(asked, `net *  (was: read .; write nothing; net nothing)`) || !strings.Contains(asked, "-echo \"counted") || !strings.Contains(asked, "+echo \"numbered") || strings.Contains(asked, "+#!") {
		t.Errorf("the change was shown as %s", asked)
	}
	if n := strings.Count(h.read(".ai/tools/acme/count.sh"), "rye:signed:v2:"); n != 1 {
		t.Errorf("it has %d signature lines", n)
	}
	n := len(w.asked)
	if r := w.call("sign", proposal("acme/count", text)); len(w.asked) != n || !strings.Contains(r.facts, "unchanged") {
		t.Errorf("the same again: %s", r.facts)
	}
	if out := h.rye("log", "tool:acme/count"); strings.Count(out, "sign tool:acme/count") != 2 {
		t.Errorf("recorded: %s", out)
	}
}

// TestProposalOverSomething: what lies there is shown before it is replaced, whole where
// the user did not sign it, and it is kept.
func TestProposalOverSomething(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	h.lists("test")
	h.write(".ai/tools/acme/count.sh", strings.Replace(counter, "counted", "my own unfinished", 1))
	w := h.speak(t, `{"elicitation":{}}`)
	if r := w.call("sign", proposal("acme/count", counter)); r.failed {
		t.Fatal(r.facts)
	}
	asked := w.asked[0]
	for _, want := range []string{"it replaces a file without your signature", `-echo "my own unfinished`, "all of it:", "+#!/usr/bin/env bash"} {
		if !strings.Contains(asked, want) {
			t.Errorf("%q was not shown: %s", want, asked)
		}
	}
	if out, _ := h.command("log", "tool:acme/count").Output(); !strings.Contains(string(out), "keep tool:acme/count") {
		t.Errorf("the user's own words are not kept: %s", out)
	}
	// Somebody else's is shown with its signer.
	other := newHome(t)
	other.write(".ai/tools/acme/theirs.sh", counter)
	other.rye("sign", "--all")
	h.write(".ai/tools/acme/theirs.sh", other.read(".ai/tools/acme/theirs.sh"))
	w.call("sign", proposal("acme/theirs", strings.Replace(counter, "counted", "mine", 1)))
	if asked := w.asked[len(w.asked)-1]; !strings.Contains(asked, "signed by "+other.key("").Fingerprint) {
		t.Errorf("its signer was not shown: %s", asked)
	}
}

// TestProposalsRefused: what a person cannot judge is not put to them, and what is no item's
// place is not written; nothing of it is on disk.
func TestProposalsRefused(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	h.lists("test")
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(h.dir, ".ai", "tools", "linked")); err != nil {
		h.write(".ai/tools/linked", "no directory") // a system without links
	}
	h.rye("new", "tool", "acme/there", "--lang", "bash")
	w := h.speak(t, `{"elicitation":{}}`)
	before := h.tree()
	for name, c := range map[string]struct {
		args map[string]any
		code string
	}{
		"bidirectional":      {proposal("acme/a", strings.Replace(counter, "counted", "\u202edetnuoc", 1)), "denied"},
		"invisible":          {proposal("acme/a", strings.Replace(counter, "counted", "a\u200bb", 1)), "denied"},
		"a long line":        {proposal("acme/a", counter+"# "+strings.Repeat("x", 2000)+"\n"), "limit"},
		"code behind spaces": {proposal("acme/a", counter+strings.Repeat(" ", 1500)+"rm -rf /\n"), "limit"},
		"many lines":         {proposal("acme/a", counter+strings.Repeat("true\n", 700)), "limit"},
		"out of .ai":         {proposal("../../escape", counter), "usage"},
		"another extension":  {proposal("acme/there", counter, "extension", ".py"), "conflict"},
		"a path in it":       {proposal("acme/a", counter, "extension", ".sh/../../x"), "usage"},
		"through a link":     {proposal("linked/a", counter), "malformed"},
		"the library's":      {proposal("rye/bash/bash", strings.Replace(counter, "category: acme", "category: rye/bash", 1)), "untrusted"},
		"a pattern":          {proposal("acme/*", counter), "usage"},
		"nothing":            {proposal("acme/a", ""), "usage"},
		"no metadata":        {proposal("acme/a", "#!/bin/zsh\ntrue\n"), "malformed"},
		"two lines":          {proposal("acme/a", counter+"# rye:signed:v2:2026-01-01T00:00:00Z:x:y:z\n"), "malformed"},
		"a bundle's":         {map[string]any{"item_type": "tool", "item_id": ".ai/tools/acme", "content": counter}, "usage"},
		"an unknown space":   {proposal("acme/a", counter, "source", "system"), "denied"},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.call("sign", c.args)
			if !r.failed || !strings.Contains(r.facts, `"code":"`+c.code+`"`) || len(w.asked) > 0 {
				t.Errorf("asked %d times: %s; want %s", len(w.asked), r.facts, c.code)
			}
		})
	}
	if after := h.tree(); after != before {
		t.Errorf("something was written:\n%s", after)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("written outside: %v", left)
	}
}
