package share

import (
	"bytes"
	"strings"
	"testing"
)

func TestSettingsRefused(t *testing.T) {
	good := "format: 1\nauthor.email: \"ada@example.org\"\nauthor.name: \"Ada Å\"\nhttp.plain: \"git.lan:3000,10.0.0.7\"\n"
	set, err := ParseSettings([]byte(good))
	if err != nil || set.who().Email != "ada@example.org" || set.who().Name != "Ada Å" || len(set.plain()) != 2 {
		t.Fatalf("%v, %v", set, err)
	}
	for name, text := range map[string]string{
		"no format":       "author.email: \"ada@example.org\"\n",
		"another format":  "format: 2\n",
		"unknown":         "format: 1\nauthor.shoe: \"44\"\n",
		"twice":           "format: 1\nauthor.name: \"a\"\nauthor.name: \"b\"\n",
		"unsorted":        "format: 1\nauthor.name: \"a\"\nauthor.email: \"a@b\"\n",
		"empty":           "format: 1\nauthor.name: \"\"\n",
		"no quotes":       "format: 1\nauthor.name: a\n",
		"other quotes":    "format: 1\nauthor.name: `a`\n",
		"no line end":     "format: 1\nauthor.name: \"a\"",
		"header injected": "format: 1\nauthor.name: \"a> 0 +0000\\ncommitter b <c\"\n",
		"no address":      "format: 1\nauthor.email: \"ada\"\n",
		"two addresses":   "format: 1\nauthor.email: \"a@b@c\"\n",
		"odd host":        "format: 1\nhttp.plain: \"git lan\"\n",
		"no port":         "format: 1\nhttp.plain: \"git.lan:99999\"\n",
		"asked what":      "format: 1\nauthor.asked: \"yes\"\n",
		"long":            "format: 1\nauthor.name: \"" + strings.Repeat("a", 201) + "\"\n",
		"large":           "format: 1\n" + strings.Repeat("\n", 9000),
	} {
		if set, err := ParseSettings([]byte(text)); err == nil {
			t.Errorf("%s: %v", name, set)
		}
	}
}

// FuzzSettings: what is read is written again, byte for byte, and fit for a commit.
func FuzzSettings(f *testing.F) {
	f.Add([]byte("format: 1\nauthor.email: \"ada@example.org\"\nauthor.name: \"Ada\"\n"))
	f.Add([]byte("format: 1\nhttp.plain: \"a,b:1\"\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		set, err := ParseSettings(raw)
		if err != nil {
			return
		}
		if !bytes.Equal(set.Encode(), raw) {
			t.Fatalf("%q is written as %q", raw, set.Encode())
		}
		if who := set.who(); strings.ContainsAny(who.Name+who.Email, "<>\r\n\x00") {
			t.Fatalf("%q", who)
		}
	})
}
