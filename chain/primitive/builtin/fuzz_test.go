package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever comes in, one JSON object comes out, and nothing outside changes.
func FuzzMain(f *testing.F) {
	for _, s := range []string{`{"path":"a"}`, `{"path":"../outside.txt","content":"x"}`, `{"files":[{"path":"b","content":"c"}]}`, `{"pattern":"**/*","path":"."}`,
		`{"path":"a","changes":[{"line_id":"abcdef","new_content":""}]}`, `{"item":"time"}`, `[]`, `{"path":"\u0000"}`} {
		for _, fn := range []string{"read", "write", "edit_lines", "glob", "grep", "ls", "system"} {
			f.Add(fn, []byte(s))
		}
	}
	w := newWorld(f)
	w.file("a", "text\n")
	f.Fuzz(func(t *testing.T, fn string, params []byte) {
		if fn == "bash" {
			return
		}
		in := w.in
		if in.Params = params; !json.Valid(params) {
			in.Params = nil
		}
		raw, _ := json.Marshal(in)
		var out bytes.Buffer
		exit := Main(context.Background(), []string{fn}, "b", bytes.NewReader(raw), &out)
		var a map[string]any
		if err := json.Unmarshal(out.Bytes(), &a); err != nil || (a["success"] == true) != (exit == 0) {
			t.Fatalf("exit %d, %q", exit, out.Bytes())
		}
		for rel, want := range map[string]string{"../outside.txt": "OUTSIDE", ".ai/tools/x.sh": "item", ".git/hooks/pre-commit": "hook"} {
			if got := w.text(rel); got != want {
				t.Fatalf("%s is %q", rel, got)
			}
		}
		Main(context.Background(), []string{fn}, "b", bytes.NewReader(params), &out)
	})
}

// A pattern is refused or matches in bounded time, and mayHold never loses a match.
func FuzzPattern(f *testing.F) {
	f.Add("**/*.{go,ts}", "src/a.go")
	f.Add("{a,{b,c}}/[x-z]?", "b/y1")
	f.Add(strings.Repeat("**/a*", 50), "a/a/a/a/b")
	f.Add("{{{", "{")
	f.Fuzz(func(t *testing.T, text, rel string) {
		p, err := parsePattern(text)
		rel = filepath.ToSlash(filepath.Clean(rel))
		if err != nil || len(rel) > 200 || strings.HasPrefix(rel, "/") || strings.HasPrefix(rel, "..") {
			return
		}
		if !p.match(rel) {
			return
		}
		for dir := rel; ; {
			i := strings.LastIndexByte(dir, '/')
			if i < 0 {
				return
			}
			if dir = dir[:i]; !p.mayHold(dir) {
				t.Fatalf("%q matches %q and may not enter %q", text, rel, dir)
			}
		}
	})
}
