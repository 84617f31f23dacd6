package author

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/workspace/internal/session"
)

// attributesFile is read by the user's own git.
const attributesFile = ".gitattributes"

// signersLine leaves each merge of allowed_signers to a person: a union of both sides brings
// signers back that one side removed.
const signersLine = "/allowed_signers -merge\n"

// CheckAttributes reports whether the project's attributes leave a merge of allowed_signers
// to a person.
func CheckAttributes(h *session.Host) []rye.DoctorCheck {
	if h.ProjectDir == "" {
		return nil
	}
	text, err := readAttributes(h.AIDir())
	if err == nil && !signersUnmerged(text) {
		return []rye.DoctorCheck{{Name: "merging", Mend: fault.Command("rye doctor --fix"),
			Text: ".ai/.gitattributes lets git merge .ai/allowed_signers, which may restore removed signers"}}
	}
	return []rye.DoctorCheck{session.Checked("merging", "git leaves merges of .ai/allowed_signers to you", err)}
}

// FixAttributes shows and then writes the lines that CheckAttributes misses. It returns the
// file that it wrote; "" for none.
func FixAttributes(ctx context.Context, s *session.Session) (written string, err error) {
	old, err := readAttributes(s.AIDir())
	if err != nil || signersUnmerged(old) {
		return "", err
	}
	now := withSignersUnmerged(old)
	q := rye.Question{Topic: "doctor", Text: "Change .ai/.gitattributes like this?", Lines: diff.Lines(old, now), Mend: fault.Command("rye doctor --fix --yes")}
	if err := s.Ask(ctx, q); err != nil {
		return "", err
	}
	root, err := place.Tree(s.AIDir())
	if err != nil {
		return "", err
	}
	defer root.Close()
	return ".ai/" + attributesFile, place.FileIn(root, attributesFile, []byte(now), 0o644)
}

// readAttributes returns the attributes of an .ai directory, "" where there are none.
func readAttributes(ai string) (string, error) {
	root, err := place.Tree(ai)
	if err != nil {
		return "", err
	}
	defer root.Close()
	raw, err := place.ReadIn(root, attributesFile, maxGitFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(raw), err
}

// signersUnmerged reports whether git neither merges nor unites allowed_signers. As in git,
// the last line about it decides.
func signersUnmerged(attributes string) (unmerged bool) {
	for line := range strings.Lines(attributes) {
		f := strings.Fields(line)
		if len(f) == 0 || !matchesSigners(f[0]) {
			continue
		}
		for _, a := range f[1:] {
			if a == "-merge" || a == "binary" { // which includes it
				unmerged = true
			} else if setsMerge(a) {
				unmerged = false
			}
		}
	}
	return unmerged
}

func setsMerge(attribute string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(attribute, "-!"), "=")
	return name == "merge"
}

// matchesSigners reports whether a pattern of an attributes file in .ai matches allowed_signers.
func matchesSigners(pattern string) bool {
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "/"), "**/")
	is, err := path.Match(pattern, "allowed_signers")
	return is && err == nil
}

// withSignersUnmerged changes the lines for allowed_signers, and adds one if they are not
// enough. Other attributes stay.
func withSignersUnmerged(attributes string) string {
	if attributes == "" {
		return gitattributes
	}
	lines := strings.SplitAfter(attributes, "\n")
	for i, line := range lines {
		f := strings.Fields(line)
		if len(f) > 0 && strings.TrimPrefix(f[0], "/") == "allowed_signers" {
			lines[i] = strings.Join(append(slices.DeleteFunc(f, setsMerge), "-merge"), " ") + "\n"
		}
	}
	now := strings.Join(lines, "")
	if signersUnmerged(now) {
		return now
	}
	if !strings.HasSuffix(now, "\n") {
		now += "\n"
	}
	return now + signersLine
}
