package consent

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

func TestParseEnv(t *testing.T) {
	got, err := ParseEnv([]byte("# a comment\n\n  PLAIN = some text # not this\nexport EXPORTED=1\r\nEMPTY=\nHASH=a#b\n" +
		"LITERAL='$HOME \\n \"'\nDOUBLE=\"a\\tb \\\"c\\\" \\$D \\x\" # comment\nKEY=\"-----BEGIN-----\nabc\n-----END-----\"\n" +
		"COMMAND=$(touch /tmp/x) `id` ${HOME}\njoined=\"a\\\nb\"\nLAST='x'"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"PLAIN": "some text", "EXPORTED": "1", "EMPTY": "", "HASH": "a#b", "LITERAL": `$HOME \n "`,
		"DOUBLE": "a\tb \"c\" $D \\x", "KEY": "-----BEGIN-----\nabc\n-----END-----", "COMMAND": "$(touch /tmp/x) `id` ${HOME}",
		"joined": "ab", "LAST": "x"}
	if !maps.Equal(got, want) {
		t.Errorf("ParseEnv = %q, want %q", got, want)
	}
}

func TestParseEnvRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		code fault.Code
		says string
	}{
		"no equals sign":     {"A=1\nnonsense", fault.Malformed, "line 2: want NAME=value"},
		"a command":          {"rm -rf /", fault.Malformed, "line 1"},
		"name with a dash":   {"A-B=1", fault.Malformed, "a name has letters"},
		"name with a digit":  {"1A=1", fault.Malformed, "a name has letters"},
		"no name":            {"=1", fault.Malformed, "a name has letters"},
		"twice":              {"A=1\n\nA=2", fault.Malformed, "line 3: A is set twice"},
		"open quote":         {"A='x\ny", fault.Malformed, "line 1: a quote that does not end"},
		"open double quote":  {`A="x\"`, fault.Malformed, "line 1: a quote"},
		"text after a quote": {"A='x'y", fault.Malformed, "line 1: text after"},
		"after several":      {"A='x\n\n'y", fault.Malformed, "line 3: text after"},
		"NUL":                {"A=1\nB=\x00", fault.Malformed, "line 2: a control"},
		"escape sequence":    {"A=\x1b[2J", fault.Malformed, "line 1: a control"},
		"not UTF-8":          {"A=\xff", fault.Malformed, "UTF-8"},
		"byte order mark":    {"\ufeffA=1", fault.Malformed, "UTF-8"},
		"too large":          {"A=" + strings.Repeat("x", MaxEnv), fault.Limit, "bytes"},
		"too many":           {manyVars(MaxVars + 1), fault.Limit, "variables"},
	} {
		_, err := ParseEnv([]byte(tc.text))
		if fault.CodeOf(err) != tc.code || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: ParseEnv = %v (%s), want %q (%s)", name, err, fault.CodeOf(err), tc.says, tc.code)
		}
		if err != nil && strings.Contains(err.Error(), "rm -rf") {
			t.Errorf("%s: the error shows what stands in the file: %v", name, err)
		}
	}
	if _, err := ParseEnv([]byte(manyVars(MaxVars))); err != nil {
		t.Error(err)
	}
}

func manyVars(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "V%d=\n", i)
	}
	return b.String()
}

// quote writes a value so that ParseEnv gives it back.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", `\r`).Replace(s) + `"`
}

func FuzzParseEnv(f *testing.F) {
	for _, s := range []string{"A=1", "export B='x\ny' # c\n", "C=\"\\n\\$(id)\"", "=", "A='", "#\n\n", "A=1\r\nB=2\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		vars, err := ParseEnv(raw)
		if err != nil {
			if c := fault.CodeOf(err); c != fault.Malformed && c != fault.Limit {
				t.Fatalf("code %s", c)
			}
			return
		}
		var b strings.Builder
		for name, v := range vars {
			if !isName(name) {
				t.Fatalf("name %q", name)
			}
			b.WriteString(name + "=" + quote(v) + "\n")
		}
		again, err := ParseEnv([]byte(b.String()))
		if b.Len() <= MaxEnv && (err != nil || !maps.Equal(vars, again)) {
			t.Fatalf("%q, written as %q, is %q, %v", vars, b.String(), again, err)
		}
	})
}

func env(text string) Thing {
	vars, _ := ParseEnv([]byte(text))
	th := Thing{What: Env, Path: "/p/.env", Sum: objects.DigestOf([]byte(text)), Parts: map[string][]byte{}}
	for k, v := range vars {
		th.Parts[k] = []byte(v)
	}
	return th
}

func TestAgreement(t *testing.T) {
	was := env("KEEP=1\nURL=http://a\nOLD=secret-value\n")
	a := Agreed{}.With(was, [16]byte{1})
	text, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "secret-value") || strings.Contains(string(text), "http") {
		t.Errorf("values are kept:\n%s", text)
	}
	if a, err = Parse(text); err != nil {
		t.Fatal(err)
	}
	if !a.Covers(was) || a.Changed(was) != nil {
		t.Errorf("what was agreed to is not covered")
	}
	now := env("KEEP=1\nURL=http://b\nNEW=x\n")
	if a.Covers(now) {
		t.Error("changed bytes are covered")
	}
	if got, want := strings.Join(a.Changed(now), "; "), "NEW is new; URL changed; OLD is gone"; got != want {
		t.Errorf("Changed = %q, want %q", got, want)
	}
	if got := a.Changed(env("# hello\nKEEP=1\nURL=http://a\nOLD=secret-value\n")); len(got) != 1 || !strings.HasPrefix(got[0], "only") {
		t.Errorf("a comment: %q", got)
	}
	for name, other := range map[string]Thing{
		"another file": {What: Env, Path: "/q/.env", Sum: was.Sum},
		"another kind": {What: Interpreter, Path: was.Path, Sum: was.Sum},
		"another tool": {What: Env, Path: was.Path, Sum: was.Sum, For: "tool:evil/x"},
		"no digest":    {What: Env, Path: was.Path},
	} {
		if a.Covers(other) {
			t.Errorf("%s is covered", name)
		}
	}
	if b := a.With(now, [16]byte{2}); b.Covers(was) || !b.Covers(now) || len(b.entries) != 1 {
		t.Error("a new agreement does not replace the old one")
	}
	if a.Without(was).Covers(was) {
		t.Error("an agreement that was taken back holds")
	}
}

func TestParseRefuses(t *testing.T) {
	ok := "consent: 1\nagreed:\n- {what: env, path: /p/.env, sha256: " + strings.Repeat("a", 64) + ", salt: " + strings.Repeat("b", 32) + "}\n"
	if _, err := Parse([]byte(ok)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"newer format":  strings.Replace(ok, "consent: 1", "consent: 2", 1),
		"unknown field": ok + "more: 1\n",
		"unknown thing": strings.Replace(ok, "what: env", "what: all", 1),
		"bad digest":    strings.Replace(ok, "sha256: a", "sha256: A", 1),
		"no path":       strings.Replace(ok, "/p/.env", `""`, 1),
		"twice":         ok + strings.SplitAfter(ok, "agreed:\n")[1],
		"no YAML":       "{",
	} {
		if a, err := Parse([]byte(text)); fault.CodeOf(err) != fault.Malformed || len(a.entries) != 0 {
			t.Errorf("%s: Parse = %v, %v", name, a, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("consent: 1\nagreed:\n- {what: env, path: /p/.env, sha256: " + strings.Repeat("a", 64) + ", salt: " + strings.Repeat("b", 32) + ", parts: {A: b}}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := Parse(raw)
		if err != nil {
			return
		}
		text, err := a.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if b, err := Parse(text); err != nil || len(b.entries) != len(a.entries) {
			t.Fatalf("%q, written as %q: %v", raw, text, err)
		}
	})
}

// TestAgreementIsAboutOneDirectory: another directory at the same path is not agreed to.
func TestAgreementIsAboutOneDirectory(t *testing.T) {
	was := env("KEEP=1\n")
	was.In = Place{Key: "abc", Inode: 7, Born: 100}
	text, err := Agreed{}.With(was, [16]byte{1}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	a, err := Parse(text)
	if err != nil || !a.Covers(was) {
		t.Fatalf("the very directory is not covered: %v\n%s", err, text)
	}
	for name, c := range map[string]struct {
		in     Place
		covers bool
	}{
		"another inode":            {Place{"abc", 8, 100}, false},
		"the inode, reused":        {Place{"abc", 7, 101}, false},
		"another project":          {Place{"abd", 7, 100}, false},
		"no project":               {Place{}, false},
		"cannot be looked at":      {Place{"abc", 0, 999}, false},
		"no birth times are kept":  {Place{"abc", 7, 0}, true},
		"nor is the inode lasting": {Place{"abc", 8, 0}, true},
	} {
		now := was
		now.In = c.in
		if got := a.Covers(now); got != c.covers {
			t.Errorf("%s: covered %v, want %v", name, got, c.covers)
		}
		if said := strings.Join(a.Changed(now), "; "); strings.Contains(said, "was replaced") == c.covers {
			t.Errorf("%s: said %q", name, said)
		}
	}
	for name, text := range map[string]string{
		"inode without place": strings.Replace(string(text), "    place: abc\n", "", 1),
		"born before 1970":    strings.Replace(string(text), "born: 100", "born: -1", 1),
	} {
		if _, err := Parse([]byte(text)); fault.CodeOf(err) != fault.Malformed {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// TestConnect: an agreement to a host is for one tool in one project. Another project's does not
// replace it, and a new one of the same project does.
func TestConnect(t *testing.T) {
	at := func(place, host, plan string) Thing {
		return Thing{What: Connect, Path: host, For: "tool:team/send", In: Place{Key: place, Inode: 7, Born: 9}, Sum: objects.DigestOf([]byte(plan))}
	}
	one, two, changed := at("one", "a.example.org:443", "x"), at("two", "a.example.org:443", "x"), at("one", "a.example.org:443", "y")
	a := Agreed{}.With(one, [16]byte{}).With(two, [16]byte{})
	raw, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if a, err = Parse(raw); err != nil || !a.Covers(one) || !a.Covers(two) || a.Covers(changed) || len(a.All(Connect)) != 2 {
		t.Errorf("%v\n%s", err, raw)
	}
	for _, other := range []Thing{at("one", "b.example.org:443", "x"), at("one", "*", "x"), at("three", "a.example.org:443", "x")} {
		if a.Covers(other) {
			t.Errorf("it covers %+v", other)
		}
	}
	if a = a.With(changed, [16]byte{}); a.Covers(one) || !a.Covers(changed) || !a.Covers(two) {
		t.Errorf("after a change: %+v", a)
	}
	if a = a.Without(two); a.Covers(two) || !a.Covers(changed) {
		t.Errorf("after the removal: %+v", a)
	}
}
