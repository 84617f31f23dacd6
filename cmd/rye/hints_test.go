package main_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/view"
)

var hintsInto = flag.String("hints", "", "list every hint that a test provoked in `file`: its kind, the hint, and the scripts")

// hintsFile is where the programs note each hint that they show (internal/cli/hints_shown.go).
func hintsFile() string { return filepath.Join(bin, "hints") }

// triedFile is where testdata/hinted writes what became of the commands that it typed.
func triedFile() string { return filepath.Join(bin, "hints-tried") }

// A tried hint is a command that was typed where it was shown.
type tried struct {
	Hint    string
	Args    []string
	Dir     string
	Exit    int
	Changed bool
	Output  string

	Failed, Mended bool
	Path           []string
}

// beyond are the programs whose work lies outside of what a script could look at: the
// network, and the user's agent.
var beyond = []string{"go", "ssh-add", "make"}

// asks reports whether a command put a question, which nobody was there to answer.
func (h tried) asks() bool {
	return strings.Contains(h.Output, "this is not a terminal")
}

// remains are hints that mend one cause of a failure where a script has made a second one, by the
// hint and the words that the command says at last.
var remains = []struct{ hint, then, why string }{
	{"rye run", "a thread needs a directive", "it does what the user wanted"},
	{"rye remove", "matches no item", "it does what the user wanted"},
	{"rye remove", "no project here", "it does what the user wanted, in the user space"},
	{"rye remove", "not in the project space", "it does what the user wanted, in the user space"},
	{"rye rm", "not in the project space", "it does what the user wanted, in the user space"},
	{"rye restore", "matches no item", "it does what the user wanted"},
	{"rye restore", "is here", "it does what the user wanted"},
	{"rye restore", "no project here", "it does what the user wanted, in the user space"},
	{"rye mv", "no project here", "it does what the user wanted, in the user space"},
	{"rye mv --namespace", "has no item there", "it does what the user wanted"},
	{"rye mcp token rotate", "has a token", "it gives the client another token, and the client exists"},
	{"rye init", "no registry", "the project that it makes has no registry yet"},
	{"rye init", "nothing was exported here yet", "the project that it makes has exported nothing yet"},
	{"rye init", "does not exist", "the script names a registry that does not exist"},
	{"rye init", "not in the project space", "the item lies in the user space"},
	{"rye policy allow", "chooses the host", "the tool names no host"},
	{"rye policy allow", "a loopback address", "the script's server is on loopback"},
	{"rye sign --upgrade", "changed since it was signed", "the script broke another item, too"},
	{"rye registry init", "a namespace belongs to one registry", "the script claims it twice"},
	{"rye key rotate", "passphrase", "the key is asked for at a terminal"},
	{"rye update", "conflict", "the update that it allows meets an edit, which stays for a person"},
	{"rye remove", "no item has this name", "it does what the user wanted"},
	{"rye trust allow", "--fingerprint", "keys from a file are named one by one"},
	{"rye policy accept", "needs consent", "a person agrees to a milder policy, at a terminal"},
	{"rye policy explain", "policy allows no content", "it shows what an owner of the project would change"},
}

var directory = regexp.MustCompile(` -C \S+`)

// unmended returns the commands that were typed after a hint and did not let the command succeed
// that it was shown for; "" where they did.
func (h tried) unmended() string {
	if !h.Failed || h.Mended {
		return ""
	}
	path := strings.Join(h.Path, "\n")
	for _, r := range remains {
		if strings.HasPrefix(directory.ReplaceAllString(h.Hint, ""), r.hint) && strings.Contains(path, r.then) {
			return ""
		}
	}
	return cmp.Or(path, h.Output)
}

// wrongTried returns the commands that led nowhere, and those after which the command that they
// were shown for fails again.
func wrongTried() (wrong []string, err error) {
	raw, err := os.ReadFile(triedFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(raw)) {
		var h tried
		if err := json.Unmarshal([]byte(line), &h); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", triedFile(), line, err)
		}
		name, _ := provoked{Dir: h.Dir}.script()
		if why := h.unmended(); why != "" {
			wrong = append(wrong, fmt.Sprintf("%s: rye %q shows the hint %q, and fails again after it:\n%s", name, h.Args, h.Hint, why))
		}
		if program, _, _ := strings.Cut(h.Hint, " "); !h.Changed && !h.asks() && !slices.Contains(beyond, program) {
			wrong = append(wrong, fmt.Sprintf("%s: rye %q shows the hint %q, which leads nowhere: exit %d\n%s", name, h.Args, h.Hint, h.Exit, h.Output))
		}
	}
	return wrong, nil
}

// A provoked hint is one that a command really showed.
type provoked struct {
	Hint    string
	Words   []string // of a command; nil for advice
	Refused string   // why rye would not take it, where it is a command of rye
	Args    []string
	Dir     string
}

// script names the script that provoked it, and the directory in which that ran.
func (p provoked) script() (name, work string) {
	for dir := p.Dir; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if name, ok := strings.CutPrefix(filepath.Base(dir), "script-"); ok {
			return name, dir
		}
	}
	return "(another test)", ""
}

func provokedHints() ([]provoked, error) {
	raw, err := os.ReadFile(hintsFile())
	if err != nil {
		return nil, err
	}
	var all []provoked
	for line := range strings.Lines(string(raw)) {
		var p provoked
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", hintsFile(), line, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// listHints writes each hint once, sorted, with the scripts that provoked it.
func listHints(into string) error {
	all, err := provokedHints()
	if err != nil {
		return err
	}
	by := map[string]map[string]bool{}
	for _, p := range all {
		kind, text := "command", p.Hint
		if p.Words == nil {
			kind = "advice"
		}
		name, work := p.script()
		if work != "" {
			text = strings.ReplaceAll(text, work, "$WORK")
		}
		key := fmt.Sprintf("%-8s %s", kind, text)
		if by[key] == nil {
			by[key] = map[string]bool{}
		}
		by[key][name] = true
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(by)) {
		fmt.Fprintf(&b, "%s\t%s\n", key, strings.Join(slices.Sorted(maps.Keys(by[key])), " "))
	}
	return os.WriteFile(into, []byte(b.String()), 0o644)
}

// mayMend are the programs that a hint may name.
var mayMend = []string{"rye", "git", "chmod", "rm", "mkdir", "mv", "ssh-add", "go", "make"}

// wrongHints returns the hints that nobody could follow, of those that any test provoked.
func wrongHints() ([]string, error) {
	wrong, err := wrongTried()
	if err != nil {
		return nil, err
	}
	all, err := provokedHints()
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // -run may have chosen tests that provoke none
		return nil, err
	}
	seen := map[string]bool{}
	for _, p := range all {
		if why := cmp.Or(unfit(p), unfitForModels(p)); why != "" && !seen[p.Hint] {
			seen[p.Hint] = true
			name, _ := p.script()
			wrong = append(wrong, fmt.Sprintf("%s: rye %q shows the hint %q: %s", name, p.Args, p.Hint, why))
		}
	}
	return wrong, nil
}

// unfit says why a command could not be typed as it is shown, or "".
func unfit(p provoked) string {
	if p.Words == nil {
		return ""
	}
	if !slices.Contains(mayMend, p.Words[0]) {
		return fmt.Sprintf("%q is no program of %q", p.Words[0], mayMend)
	}
	for _, w := range p.Words[1:] {
		if strings.ContainsFunc(w, unicode.IsControl) {
			continue // the hint shows it as $'...', which a shell reads
		}
		pattern := p.Words[0] == "go" && strings.HasSuffix(strings.Split(w, "@")[0], "/...")
		if strings.ContainsAny(w, "<>()[]\u2026") || strings.Contains(w, "...") && !pattern {
			return fmt.Sprintf("%q is no word to type", w)
		}
	}
	return p.Refused
}

var flagged = regexp.MustCompile(`(^|\s)--[a-z]`)

// unfitForModels says what a model could do nothing with in a hint as it reads it, or "".
func unfitForModels(p provoked) string {
	h := fault.Advice("%s", p.Hint)
	if p.Words != nil {
		h = fault.CommandOf(p.Words...)
	}
	switch said := view.Hint(h, "").(type) {
	case string:
		person := strings.HasPrefix(said, "a person can run: ") || strings.HasPrefix(said, "for a person: ")
		if !person && (flagged.MatchString(said) || strings.Contains(" "+said, " rye ")) {
			return "a model would read " + said
		}
	case view.Call:
		if !slices.Contains([]string{"search", "load", "execute", "sign"}, said.Tool) {
			return "a model has no tool " + said.Tool
		}
	}
	return ""
}

func TestUnfitHints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words []string
		fit   bool
	}{
		{nil, true},
		{[]string{"rye", "sign", "tool:a/b"}, true},
		{[]string{"go", "install", "a.example/b/...@latest"}, true},
		{[]string{"sudo", "rm"}, false},
		{[]string{"rye", "sign", "<ref>"}, false},
		{[]string{"rye", "key", "trust", "SHA256:…"}, false},
		{[]string{"rye", "sign", "..."}, false},
		{[]string{"rm", "a/..."}, false},
		{[]string{"rye", "add", "--force", "(records", "first)"}, false},
	} {
		if why := unfit(provoked{Words: c.words}); (why == "") != c.fit {
			t.Errorf("%q: %q, want fit %v", c.words, why, c.fit)
		}
	}
}
