package main

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
)

// tallyDirective is the directive of the thread; its provider answers from a script.
const tallyDirective = "# Tally\n\n```xml\n" + `<directive name="tally" version="1.0.0">
  <metadata>
    <description>Count the data files and say whether that is enough</description>
    <category>acme</category>
    <author>alice</author>
    <model tier="general" provider="acme/scripted"/>
    <limits turns="6" spend="0.05"/>
    <permissions><execute><tool>acme.count</tool></execute></permissions>
  </metadata>
  <outputs>
    <output name="verdict">enough, or too few</output>
  </outputs>
</directive>
` + "```\n\nCount the files with `acme/count`. Two are enough.\n"

// scriptedModel first makes its allowed call, and then one that it may not make.
const scriptedModel = `version: "1.0.0"
tool_type: provider
executor_id: null
category: acme
description: A model that answers from a script
config:
  mock:
    turns:
      - say: "I count, and I try to look into the system."
        calls:
          - {name: rye_execute, args: {item_type: tool, item_id: acme/count}}
          - {name: rye_execute, args: {item_type: tool, item_id: rye/core/system/info}}
      - say: "There are ${result.0.text}, and the system is none of my business."
        calls: [{name: directive_return, args: {verdict: enough}}]
`

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
	say("the model is scripted: it takes no network and no key, and is asked as a real one is")
	if _, err := p.run(ctx, outcome{words: []string{"There are 2,", "failed: denied", "completed"}}, "rye", "thread", "start", "directive:acme/tally", "--follow"); err != nil {
		return err
	}
	say("what the directive does not permit was refused, although the model asked for it")
	text, err := p.run(ctx, outcome{words: []string{`"verdict":"enough"`}}, "rye", "thread", "list", "--json")
	if err != nil {
		return err
	}
	var info struct {
		ID string `json:"thread_id"`
	}
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&info); err != nil {
		return err
	}
	return p.threadWithGit(ctx, info.ID)
}

// threadWithGit shows the branch of a thread by git alone.
func (p *person) threadWithGit(ctx context.Context, id string) error {
	if p.w.git == "" {
		say("there is no git on this machine; rye thread log shows the same")
		_, err := p.run(ctx, outcome{words: []string{"completed"}}, "rye", "thread", "log", id)
		return err
	}
	store, err := p.run(ctx, outcome{}, "rye", "where", "record")
	if err != nil {
		return err
	}
	store = strings.TrimSpace(store)
	if _, err := p.run(ctx, outcome{words: []string{"begin directive:acme/tally", "turn 1", "Rye-Spend-Micros"}},
		"git", "-C", store, "--no-pager", "log", "--reverse", "--format=%h %s%n%(trailers:key=Rye-Spend-Micros)", "threads/"+id); err != nil {
		return err
	}
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		say("there is no ssh-keygen on this machine: git cannot check signatures without it")
		return nil
	}
	_, err = p.run(ctx, outcome{words: []string{"Good"}}, "git", "-C", store, "-c", "gpg.format=ssh",
		"-c", "gpg.ssh.allowedSignersFile="+filepath.Join(filepath.Dir(store), "threads", "allowed_signers"), "verify-commit", "threads/"+id)
	say("each turn of a thread is a commit, signed with a key that ended with the thread")
	return err
}
