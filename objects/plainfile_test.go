package objects

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// filed has a field of every kind that rye's own files have, and of some that have a
// form of their own.
type filed struct {
	Format int               `yaml:"format"`
	Seq    uint64            `yaml:"seq,omitempty"`
	Name   string            `yaml:"name"`
	On     bool              `yaml:"on_it"`
	List   []string          `yaml:"list,omitempty"`
	Entry  filedEntry        `yaml:"entry"`
	Many   []filedEntry      `yaml:"many"`
	Words  map[string]string `yaml:"words"`
	Deep   map[string]struct {
		Keys []filedEntry `yaml:"keys"`
	} `yaml:"deep"`
	Ptr  *int          `yaml:"ptr"`
	Any  any           `yaml:"any"`
	Took time.Duration `yaml:"took"`
	At   time.Time     `yaml:"at"`
}

type filedEntry struct {
	Key   string      `yaml:"key"`
	State filedString `yaml:"state"`
	N     uint64      `yaml:"num"`
}

type filedString string

// comparePlainFile compares what is read here with what the library reads, and returns
// whether it was read here.
func comparePlainFile(t *testing.T, text string) bool {
	t.Helper()
	var got, want filed
	if !plainDecode([]byte(text), &got) {
		if !reflect.ValueOf(got).IsZero() {
			t.Fatalf("%q: not read here, and changed %+v", text, got)
		}
		return false
	}
	if err := decodeYAML([]byte(text), 1<<20, &want); err != nil {
		t.Fatalf("%q: read here, and the library says %v", text, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q:\n%+v\nthe library:\n%+v", text, got, want)
	}
	return true
}

var plainFiles = map[string]bool{
	"format: 1\n": true,
	"# one\nformat: 1\n# two: x\nname: a b\n# three\n":                               true,
	"format: 1\nmany:\n  - key: ssh-ed25519 AAAA+/x==\n    state: a\n  - num: 7\n":   true,
	"list:\n  - 2081a6d5ab518115a21ca2017c545937\n  - 12\n  - 1e5\n  - 2026-01-02\n": true,
	"entry:\n  key: sha256:ab\n  num: 3\non_it: true\nseq: 123456789\n":              true,
	"words:\n  acme/tool/x: ^1.2\n":                                                  false,
	"words:\n  acme/tool/x: \"^1.2\"\n":                                              true,
	"words:\n  a: https://example.org/x.git\n  b-c: d\n":                             true,
	"deep:\n  acme:\n    keys:\n      - key: a\n        num: 1\n      - key: b\n":    true,
	"name: /srv/acme.git\n":                                                          true,
	"name: /\n":                                                                      true,
	"name: ~/acme.git\n":                                                             false,
	"name: \"a: b # c\"\n":                                                           true,
	"name: \"\"\n":                                                                   true,
	"name: \"a\\nb\"\n":                                                              false,
	"name: a: b\n":                                                                   false,
	"name: a:\n":                                                                     false,
	"name: a #b\n":                                                                   false,
	"name: null\n":                                                                   false,
	"name: ~\n":                                                                      false,
	"name:\n":                                                                        false,
	"name: [a]\n":                                                                    false,
	"name: a\n b\n":                                                                  false,
	"name: a\n  b: c\n":                                                              false,
	"name: a\n\n":                                                                    false,
	"name: a":                                                                        false,
	"name: a\r\n":                                                                    false,
	"name: é\n":                                                                      false,
	"# é\nname: a\n":                                                                 false,
	"# a\rname: b\nname: a\n":                                                        false,
	" # a\nname: a\n":                                                                false,
	"name: a\nname: b\n":                                                             false,
	"words:\n  a: b\n  a: c\n":                                                       false,
	"nobody: a\n":                                                                    false,
	"format: 010\n":                                                                  false,
	"format: 1_0\n":                                                                  false,
	"format: 1.0\n":                                                                  false,
	"format: -1\n":                                                                   false,
	"format: a\n":                                                                    false,
	"seq: 1234567890\n":                                                              false,
	"on_it: yes\n":                                                                   false,
	"on_it: True\n":                                                                  false,
	"ptr: 1\n":                                                                       false,
	"any: 1\n":                                                                       false,
	"took: 1\n":                                                                      false,
	"at: 2026-01-02\n":                                                               false,
	"list: a\n":                                                                      false,
	"list:\n- a\n":                                                                   false,
	"list:\n    - a\n":                                                               false,
	"list:\n  - a\n   - b\n":                                                         false,
	"list:\n  - a\n  b: c\n":                                                         false,
	"list:\n  - a\n    b\n":                                                          false,
	"list:\n  - - a\n":                                                               false,
	"list:\n  -\n":                                                                   false,
	"list:\n  - a: b\n":                                                              false,
	"many:\n  - a\n":                                                                 false,
	"many:\n  -  key: a\n":                                                           false,
	"many:\n  key: a\n":                                                              false,
	"entry: a\n":                                                                     false,
	"entry:\n  - a\n":                                                                false,
	"entry:\nname: a\n":                                                              false,
	"entry:\n   key: a\n":                                                            false,
	"words: {}\n":                                                                    false,
	"words:\n  yes: a\n":                                                             false,
	"words:\n  1: a\n":                                                               false,
	"words:\n  <<: a\n":                                                              false,
	"---\nname: a\n":                                                                 false,
	"name: a\n---\nname: b\n":                                                        false,
	"name: a\n...\n":                                                                 false,
	"%YAML 1.1\n---\nname: a\n":                                                      false,
	"name: &a b\n":                                                                   false,
	"name: !!str b\n":                                                                false,
	"name: 'b'\n":                                                                    false,
	"name: \"b\" \n":                                                                 false,
	"name: a\tb\n":                                                                   false,
	"\tname: a\n":                                                                    false,
	"- name: a\n":                                                                    false,
	"":                                                                               false,
	"# a\n":                                                                          false,
	"words:\n  " + strings.Repeat("k", 1100) + ": a\n": false,
}

func TestPlainFile(t *testing.T) {
	for text, plain := range plainFiles {
		if got := comparePlainFile(t, text); got != plain {
			t.Errorf("%q: read here %v, want %v", text, got, plain)
		}
	}
}

// What rye writes, it reads here.
func TestPlainFileWritten(t *testing.T) {
	raw, err := EncodeYAML(struct {
		Format int          `yaml:"format"`
		Many   []filedEntry `yaml:"many"`
		List   []string     `yaml:"list"`
	}{1, []filedEntry{{"ssh-ed25519 AAAA", "active", 3}}, []string{strings.Repeat("12", 16), strings.Repeat("1e", 16)}})
	if err != nil {
		t.Fatal(err)
	}
	if !comparePlainFile(t, string(raw)) {
		t.Errorf("left to the library:\n%s", raw)
	}
}

// What is given already is the library's to add to.
func TestPlainFileIntoSomething(t *testing.T) {
	v := filed{Name: "b"}
	if err := DecodeYAML([]byte("format: 1\n"), 100, &v); err != nil || v.Name != "b" || v.Format != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	if plainDecode([]byte("format: 1\n"), filed{}) {
		t.Error("into a value")
	}
	var m map[string]string
	if plainDecode([]byte("format: 1\n"), &m) {
		t.Error("into a map")
	}
}

func FuzzPlainFile(f *testing.F) {
	for text := range plainFiles {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { comparePlainFile(t, text) })
}

func BenchmarkPlainFile(b *testing.B) {
	text := []byte("# Whom you believe.\nformat: 1\nmany:\n  - key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfkxlN\n    state: default\nlist:\n  - 2081a6d5ab518115a21ca2017c545937\n")
	for name, decode := range map[string]func([]byte, int, any) error{"here": DecodeYAML, "library": decodeYAML} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var v filed
				if err := decode(text, 1<<20, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
