package workspace_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// settings writes and signs configurations of a new project, by name below acme.
func settings(t *testing.T, texts map[string]string) *person {
	p := project(t)
	var all []rye.Target
	for name, text := range texts {
		p.write("config/acme/"+name+".yaml", text)
		all = append(all, rye.Target("config:acme/"+name))
	}
	p.sign(all...)
	return p
}

func (p *person) config(c rye.Caller, name string) (string, error) {
	p.t.Helper()
	res, err := p.Record().Config(p.t.Context(), c, name)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(res.Value)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, s := range res.Sources {
		raw = fmt.Append(raw, " ", s.Space, " ", s.Ref)
	}
	return string(raw), nil
}

func TestConfigExtends(t *testing.T) {
	texts := map[string]string{"base": "a: 1\nb: {c: 1}\n", "one": "extends: acme/base\nb: {d: 2}\n", "two": "extends: acme/one\na: 3\n", "free": "extends: null\nx: 1\n"}
	for i := range 10 {
		texts[fmt.Sprintf("deep%d", i)] = fmt.Sprintf("extends: acme/deep%d\nn%d: 1\n", i+1, i)
	}
	texts["deep10"] = "n10: 1\n"
	p := settings(t, texts)
	for name, want := range map[string]string{
		"acme/two":   `{"a":3,"b":{"c":1,"d":2}} project config:acme/base project config:acme/one project config:acme/two`,
		"acme/free":  `{"x":1} project config:acme/free`,
		"acme/deep8": `{"n10":1,"n8":1,"n9":1} project config:acme/deep10 project config:acme/deep9 project config:acme/deep8`,
	} {
		if got, err := p.config(rye.Terminal(), name); err != nil || got != want {
			t.Errorf("Config(%s) = %s, %v; want %s", name, got, err, want)
		}
	}
	if _, err := p.config(rye.Terminal(), "acme/deep2"); err != nil {
		t.Errorf("on eight others: %v", err)
	}
	_, err := p.config(rye.Terminal(), "acme/deep1")
	wantCode(t, "on nine others", err, fault.Limit)
	for _, name := range []string{"", "../x", "acme", "acme//x", "config:acme/two", "acme/Two"} {
		if _, err := p.config(rye.Terminal(), name); err == nil {
			t.Errorf("Config(%q) is something", name)
		}
	}
}

// What the user says, the project says more strongly, and may take away.
func TestConfigLayers(t *testing.T) {
	p := settings(t, map[string]string{"base": "a: 1\n", "one": "extends: acme/base\nb: 1\nc: {d: 1}\n"})
	for _, ref := range []string{"config:acme/base", "config:acme/one"} {
		if _, err := p.Copy(t.Context(), rye.Terminal(), rye.CopyRequest{Ref: refOf(ref), To: "user"}); err != nil {
			t.Fatal(err)
		}
	}
	p.write("config/acme/one.yaml", "c: {e: 2}\nb: null\n")
	p.write("config/acme/base.yaml", "a: 2\n")
	p.sign("config:acme/base", "config:acme/one")
	if got, err := p.config(rye.Terminal(), "acme/one"); err != nil ||
		got != `{"a":2,"b":null,"c":{"d":1,"e":2}} user config:acme/base project config:acme/base user config:acme/one project config:acme/one` {
		t.Errorf("both layers: %s, %v", got, err)
	}
	p.write("config/acme/one.yaml", "extends: null\n")
	p.sign("config:acme/one")
	if got, err := p.config(rye.Terminal(), "acme/one"); err != nil || got != `{"b":1,"c":{"d":1}} user config:acme/one project config:acme/one` {
		t.Errorf("what the user's extends is taken away: %s, %v", got, err)
	}
	p.write("config/acme/one.yaml", "b: 1\n")
	_, err := p.config(rye.Terminal(), "acme/one")
	wantCode(t, "one layer is not signed", err, fault.Untrusted)
}

// A configuration that extends another says what that one says.
func TestConfigIsLoading(t *testing.T) {
	p := settings(t, map[string]string{"secret": "password: x\n", "one": "extends: acme/secret\n"})
	for name, tc := range map[string]struct {
		c   rye.Caller
		may bool
	}{
		"a person":                       {rye.Terminal(), true},
		"a client":                       {rye.Client(), true},
		"a program that may load both":   {rye.Program("robot", "rye.load.config.acme.*"), true},
		"a program that may load one":    {rye.Program("robot", "rye.load.config.acme.one"), false},
		"a program that may do the rest": {rye.Program("robot", "rye.execute.*", "rye.search.*", "rye.config"), false},
		"a thread that is denied one":    {thread(t, []string{"rye.load.*"}, []string{"rye.load.config.acme.secret"}), false},
		"a thread that may":              {thread(t, []string{"rye.load.config.*"}, nil), true},
		"nobody":                         {rye.Caller{}, false},
	} {
		got, err := p.config(tc.c, "acme/one")
		if tc.may && err != nil || !tc.may && (!fault.Is(err, fault.Denied) || strings.Contains(got, "password")) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}
