package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/words"
)

const nasty = "a\x1b[2Jb\u202ec\u009bd"

func TestTerminalIsSafe(t *testing.T) {
	it := rye.ItemInfo{Ref: "tool:a/b", Space: "project", State: "signed", Description: nasty, Version: nasty, Signer: nasty}
	for _, color := range []bool{false, true} {
		var out, errs bytes.Buffer
		p := &printer{out: bufio.NewWriter(&out), err: &errs, tty: true, errs: true, color: color}
		rows(p, []rye.ItemInfo{it}, itemRow)
		p.printItem(it)
		p.printStatus(&rye.Survey{Items: []rye.ItemInfo{{Ref: nasty, State: "older", Why: nasty}}}, false)
		p.content(nasty)
		p.stream().Write([]byte(nasty))
		p.infof("%s", nasty)
		p.report(errors.New(nasty))
		p.flush()
		text := out.String() + errs.String()
		for _, own := range []string{"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[1m", "\x1b[0m"} {
			if color {
				text = strings.ReplaceAll(text, own, "")
			}
		}
		if i := strings.IndexFunc(text, words.Hidden); i >= 0 {
			t.Errorf("color %v: %q reached the terminal", color, text[i:min(len(text), i+20)])
		}
	}
}

func TestJSONIsSafeAndTheSame(t *testing.T) {
	var out bytes.Buffer
	p := &printer{out: bufio.NewWriter(&out), tty: true, json: true}
	if err := p.object(map[string]string{"x": nasty + "\U000e0041"}); err != nil {
		t.Fatal(err)
	}
	p.flush()
	if strings.IndexFunc(out.String(), words.Hidden) >= 0 {
		t.Errorf("%q reached the terminal", out.String())
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["x"] != nasty+"\U000e0041" {
		t.Errorf("%q reads back as %q, %v", out.String(), back["x"], err)
	}
}

// TestLinesAreThePrinters: no argument makes a line, acts on a terminal or looks like two columns,
// in a pipe, either.
func TestLinesAreThePrinters(t *testing.T) {
	const forged = "ok    tool:a/b"
	for _, text := range []string{nasty, "x\n" + forged, "x\r\n" + forged + "\r", forged, "\"x\\n" + forged + "\""} {
		for _, columns := range []int{0, 20, 24} {
			var out, errs bytes.Buffer
			p := &printer{out: bufio.NewWriter(&out), err: &errs, tty: columns > 0, errs: columns > 0, columns: columns, errColumns: columns}
			p.printf("%s\n", text)
			p.printf("%s  %v\n", good(text), rye.Target(text))
			p.table([][]any{{text, bold(prose("a " + text))}, {rye.State(text)}})
			p.fields(9, text, text, "why", prose("b "+text))
			p.block(text + "\n" + text)
			s := p.speech()
			for _, piece := range strings.SplitAfter(text, "") {
				s.write(piece)
			}
			s.end()
			p.infof("%s", text)
			p.errorf("warning: %s", fmt.Errorf("read %s: %w", text, errors.Join(errors.New("c "+text), errors.New("d "+text))))
			p.hint(fault.Command("rye sign %s", text))
			p.report(errors.Join(fault.New(fault.Failed, "e %s", text), errors.New("f "+text)))
			p.report(fault.New(fault.Denied, "%w", &app.Unasked{Question: rye.Question{Topic: "g", Text: text, Lines: []string{text, text}}}))
			p.flush()
			all := out.String() + errs.String()
			if i := strings.IndexFunc(all, words.Hidden); i >= 0 {
				t.Errorf("%q at %d columns: %q is printed", text, columns, all[i:])
			}
			for line := range strings.Lines(all) {
				if strings.HasPrefix(line, forged) {
					t.Errorf("%q at %d columns makes the line %q", text, columns, line)
				}
			}
			if n, want := strings.Count(errs.String(), "\n"), 5+4; columns == 0 && n != want {
				t.Errorf("%q makes %d lines of %d messages:\n%s", text, n, want, errs.String())
			}
		}
	}
}

// TestContentIsExact: elsewhere than on a terminal, bytes are bytes.
func TestContentIsExact(t *testing.T) {
	var out bytes.Buffer
	p := &printer{out: bufio.NewWriter(&out)}
	p.content(nasty + "\xff\r\n")
	p.stream().Write([]byte(nasty))
	p.flush()
	if want := nasty + "\xff\r\n" + nasty; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
}

func TestParameters(t *testing.T) {
	for _, c := range []struct {
		given string
		pairs []string
		want  string // "" is a usage error
	}{
		{"", nil, `{}`},
		{"", []string{"name=ada", "n:=3", "empty="}, `{"empty":"","n":3,"name":"ada"}`},
		{"", []string{"q=a=b,c"}, `{"q":"a=b,c"}`},
		{`{"a":1}`, []string{"b=2"}, `{"a":1,"b":"2"}`},
		{`{"a":12345678901234567890}`, nil, `{"a":12345678901234567890}`},
		{`{"a":1}`, []string{"a=2"}, ""},
		{`[1]`, nil, ""}, {`null`, nil, ""}, {`{`, nil, ""},
		{"", []string{"name"}, ""}, {"", []string{"=x"}, ""}, {"", []string{"n:=three"}, ""}, {"", []string{"a=1", "a=2"}, ""},
	} {
		got, err := (&task{}).parameters(c.given, c.pairs)
		if c.want == "" {
			if fault.CodeOf(err) != "usage" {
				t.Errorf("parameters(%q, %q) = %s, %v, want a usage error", c.given, c.pairs, got, err)
			}
			continue
		}
		if err != nil || string(got) != c.want {
			t.Errorf("parameters(%q, %q) = %s, %v, want %s", c.given, c.pairs, got, err, c.want)
		}
	}
}

// TestHintsOnce: a list shows each hint once, and a command for one item of many.
func TestHintsOnce(t *testing.T) {
	sign := func(ref string) fault.Hint { return fault.Command("rye sign %s", ref) }
	for _, c := range []struct {
		name string
		all  []fault.Hint
		want string
	}{
		{"one", []fault.Hint{sign("a/b")}, "rye sign a/b"},
		{"the same", []fault.Hint{sign("a/b"), fault.Advice("edit it"), sign("a/b"), fault.Advice("edit it")}, "rye sign a/b|edit it"},
		{"other items", []fault.Hint{sign("a/b"), fault.Command("rye trust"), sign("a/c"), sign("a/d"), sign("a/c")}, "rye sign a/b|rye trust|2 more items with the same command as above"},
		{"other flags", []fault.Hint{fault.Command("rye sign --upgrade a/b"), sign("a/c"), fault.Command("rye sign --upgrade a/d")}, "rye sign --upgrade a/b|rye sign a/c|1 more item with the same command as above"},
		{"other words", []fault.Hint{fault.Advice("edit a"), fault.Advice("edit b"), fault.Command("rye trust"), fault.Command("rye fetch")}, "edit a|edit b|rye trust|rye fetch"},
	} {
		var out, errs bytes.Buffer
		p := &printer{out: bufio.NewWriter(&out), err: &errs}
		end := p.list()
		for _, h := range c.all {
			inner := p.list() // as of a part of the list
			p.hint(h)
			inner()
		}
		end()
		got := strings.NewReplacer("rye: hint: ", "", "rye: ", "", "\n", "|").Replace(strings.TrimSuffix(errs.String(), "\n"))
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		errs.Reset()
		p.hint(c.all[0])
		if errs.Len() == 0 {
			t.Errorf("%s: after the list its hint is not shown any more", c.name)
		}
	}
}
