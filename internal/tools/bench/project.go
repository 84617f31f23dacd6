package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/internal/words"
)

// entry returns the id of the i-th knowledge entry. A folder has a hundred entries, as
// in a real project.
func entry(i int) string { return fmt.Sprintf("acme/t%03d/e%05d", i/100, i) }

const tool = `#!/bin/bash
# version: 1.0.0
# tool_type: bash
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: What there is to measure
echo done
`

// project returns a project with n signed knowledge entries and one locked tool.
// It is made once.
func (b *bench) project(n int) (string, error) {
	if dir, ok := b.projects[n]; ok {
		return dir, nil
	}
	dir := filepath.Join(b.dir, fmt.Sprintf("p%d", n))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := b.do(dir, "rye", "init", "--namespace", "acme"); err != nil {
		return "", err
	}
	for i := range n {
		if err := writeEntry(dir, i); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, ".ai", "tools", "acme", "bench.sh")
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(tool), 0o644),
		b.do(dir, "rye", "sign", "--all", "--quiet"), b.do(dir, "rye", "lock", "--quiet", "tool:acme/bench"))
	b.projects[n] = dir
	return dir, err
}

// writeEntry writes about 1.2 KB of text that differs from entry to entry.
func writeEntry(dir string, i int) error {
	id := entry(i)
	path := filepath.Join(dir, ".ai", "knowledge", filepath.FromSlash(id)+".md")
	var t strings.Builder
	fmt.Fprintf(&t, "---\nid: e%05d\ntitle: Entry %d\nversion: 1.0.0\nentry_type: reference\ncategory: %s\ntags: [bench]\n---\n\n",
		i, i, id[:strings.LastIndexByte(id, '/')])
	for j := range 20 {
		fmt.Fprintf(&t, "Fact %d of entry %d: the value %x follows from %x.\n", j, i, i*7919+j, (i+j)*104729)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(t.String()), 0o644)
}

// writeStream writes the project's entries as a fast-import stream of one commit.
func writeStream(to, dir string, n int) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	fmt.Fprintf(w, "commit refs/heads/main\ncommitter bench <bench@localhost> %d +0000\ndata 5\nitems\n", time.Now().Unix())
	for i := range n {
		path := "knowledge/" + entry(i) + ".md"
		text, err := os.ReadFile(filepath.Join(dir, ".ai", filepath.FromSlash(path)))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", path, len(text), text)
	}
	return errors.Join(w.Flush(), f.Sync())
}

// median returns the median of each figure separately.
func median(all []cost) cost {
	return cost{
		wall:     middle(all, func(c cost) time.Duration { return c.wall }),
		cpu:      middle(all, func(c cost) time.Duration { return c.cpu }),
		resident: middle(all, func(c cost) int64 { return c.resident }),
	}
}

func middle[T cmp.Ordered](all []cost, of func(cost) T) T {
	list := make([]T, len(all))
	for i, c := range all {
		list[i] = of(c)
	}
	slices.Sort(list)
	return list[len(list)/2]
}

func ms(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000)
}

func ratio(a, b time.Duration) string {
	if a == 0 || b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}

func first(s string) string {
	return strings.TrimPrefix(words.FirstLine(s), "rye ")
}

func clip(out []byte) string {
	return strings.TrimSpace(words.Clip(string(out), 400))
}
