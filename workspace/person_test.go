package workspace_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/search/fulltext"
	"github.com/rye-os/rye/workspace"
)

// person is somebody with a home of their own and, after init, a project.
type person struct {
	*workspace.Workspace
	t     testing.TB
	home  string
	dir   string
	o     workspace.Options
	asks  []rye.Question
	yes   bool
	looks bool // and answers what only a person may
}

// newPerson makes a home and an empty project directory. The clock moves one
// second with every look, so that signatures are ordered.
func newPerson(t testing.TB) *person {
	t.Helper()
	p := &person{t: t, home: t.TempDir(), dir: t.TempDir(), yes: true}
	clock, ticks := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), atomic.Int64{}
	p.o = workspace.Options{
		User:      p.home,
		ConfigDir: filepath.Join(p.home, "config"),
		DataDir:   filepath.Join(p.home, "data"),
		StateDir:  filepath.Join(p.home, "state"),
		CacheDir:  filepath.Join(p.home, "cache"),
		Path:      os.Getenv("PATH"),
		Now:       func() time.Time { return clock.Add(time.Duration(ticks.Add(1)) * time.Second) },
		Consent: func(_ context.Context, q rye.Question) (bool, error) {
			p.asks = append(p.asks, q)
			if q.Person {
				return p.looks, nil
			}
			return p.yes, nil
		},
	}
	index := fulltext.New(filepath.Join(p.home, "cache", "search"))
	t.Cleanup(index.Wait)
	p.o.Index = index
	p.Workspace = workspace.Open(p.o)
	return p
}

// project makes the person's project in the namespace acme.
func project(t testing.TB) *person {
	t.Helper()
	p := newPerson(t)
	if _, err := p.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: p.dir, Namespace: "acme"}); err != nil {
		t.Fatal(err)
	}
	p.enter(p.dir)
	return p
}

func (p *person) enter(dir string) {
	p.dir, p.o.Project = dir, dir
	p.Workspace = workspace.Open(p.o)
}

func (p *person) path(name string) string {
	return filepath.Join(p.dir, ".ai", filepath.FromSlash(name))
}

// record returns the directory of the project's record.
func (p *person) record() string {
	p.t.Helper()
	rep, err := p.Upkeep().Where(p.t.Context(), rye.Terminal(), rye.WhereRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	return filepath.Dir(rep.Record)
}

func (p *person) write(name, text string) {
	p.t.Helper()
	testkit.WriteFile(p.t, p.path(name), text, 0o644)
}

func (p *person) read(name string) string {
	p.t.Helper()
	return testkit.ReadFile(p.t, p.path(name))
}

func (p *person) sign(targets ...rye.Target) {
	p.t.Helper()
	if _, err := p.Sign(p.t.Context(), rye.Terminal(), rye.SignRequest{Targets: targets}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) run(item string, params any) (*rye.ExecuteResult, error) {
	p.t.Helper()
	raw, err := json.Marshal(params)
	if params == nil {
		raw = nil
	}
	if err != nil {
		p.t.Fatal(err)
	}
	ref, err := p.Ref(p.t.Context(), rye.Terminal(), item)
	if err != nil {
		return nil, err
	}
	return p.Execute(p.t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: ref, Params: raw})
}

// refOf reads a ref that the test spells out.
func refOf(s string) rye.Ref {
	r, err := objects.ParseRef(s)
	if err != nil {
		panic(err)
	}
	return r
}

var wantCode = testkit.WantCode // for short

const greet = `#!/usr/bin/env bash
# version: 1.0.0
# tool_type: bash
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Say hello.
# needs: {read: [.]}
echo "hello, ${RYE_PARAM_NAME:-world}"
`

// snapshot lists every file below dir with its size and time.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err == nil {
			b.WriteString(p + " " + st.ModTime().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
