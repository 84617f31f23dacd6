package transport

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
)

// A RejectedError means that the remote refused to move a ref. Its code is Conflict if the ref
// is not where the caller expected it, and Limit if the push is too large for the host. It is
// Network if the remote does not report that the ref moved, and otherwise Denied.
type RejectedError struct {
	Name   string // full name of the ref
	Reason string // in the remote's words, cleaned of control characters, or ours
	Said   string // the output of the host's rules, cleaned and bounded; "" for none
	code   fault.Code
}

func (e *RejectedError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("push %s: rejected: %s", e.Name, e.Reason)
	}
	return fmt.Sprintf("push %s: rejected: %s (the host says: %s)", e.Name, e.Reason, e.Said)
}

// rejected distinguishes a lost race from a refusal by a rule, by the words that git and
// forges use.
func rejected(name, why, said string) *RejectedError {
	low := strings.ToLower(why)
	if hasAny(low, "fetch first", "non-fast-forward", "fast-forward", "already exists", "cannot lock ref", "failed to lock",
		"failed to update ref", "incorrect old value", "atomic", "is at ", "conflict", "reference already exists", "stale info") {
		return &RejectedError{name, why, said, fault.Conflict}
	}
	return &RejectedError{name, why, said, ruleCode(why + " " + said)}
}

// ruleCode returns Limit for a rule about sizes, otherwise Denied.
func ruleCode(text string) fault.Code {
	if hasAny(strings.ToLower(text), "too large", "exceeds", "maximum allowed size", "size limit", "file size", "quota") {
		return fault.Limit
	}
	return fault.Denied
}

// hint is the publisher's remedy for the refusal. Only the host's administrator can change its
// rules: no hint leads around them.
func (e *RejectedError) hint() fault.Hint {
	low := strings.ToLower(e.Reason + " " + e.Said)
	branch := strings.TrimPrefix(e.Name, "refs/heads/")
	switch {
	case e.code == fault.Conflict:
		return fault.Advice("rye pull, then push again")
	case e.code == fault.Limit:
		return fault.Advice("publish fewer or smaller items at a time, or have the host's limit on the size of a push raised")
	case hasAny(low, "sign", "verified", "gpg"):
		return fault.Advice("add your key to your account there as a signing key (rye key list), and set the address of that account: rye config author.email <address>")
	case hasAny(low, "committer", "author", "email"):
		return fault.Advice("set the address of your account there: rye config author.email <address>")
	case hasAny(low, "checked out"):
		return fault.Advice("a registry is a bare repository; there: git config core.bare true")
	case hasAny(low, "protected", "not allowed", "permission", "denied", "hook declined"):
		return fault.Advice("ask the host's administrator to let your account push to the branch %s", branch)
	}
	return fault.Advice("ask the host's administrator: a rule of the host refused it")
}

// hostWords collects a host's output during an operation, up to a bound. A line may arrive in
// several packets.
type hostWords struct {
	raw strings.Builder
	to  func(string) // receives each piece as it arrives; may be nil
}

const (
	wordsMax = 16 << 10 // collected, in bytes; the rest is dropped
	saidMax  = 1000     // shown, in bytes
)

func (w *hostWords) add(text string) {
	w.raw.WriteString(text[:min(len(text), wordsMax-w.raw.Len())])
	if w.to != nil {
		w.to(cleanText(text))
	}
}

// pattern compiles a regular expression on first use, and not at every start.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// counting matches git's own progress lines.
var counting = pattern(`^(remote: )?(Enumerating|Counting|Compressing|Receiving|Resolving|Unpacking|Checking|Updating|Writing|Processing|Total|Delta compression)\b[^:]*(:|$|\()`)

// banner matches a line that only draws a frame, as forges do around their messages.
var banner = pattern(`^(error:|fatal:)?[\s=*#+_~-]*$`)

// escapes matches terminal colour sequences.
var escapes = pattern("\x1b\\[[0-9;?]*[A-Za-z]")

// said returns the useful part of the output, on one line.
func (w *hostWords) said() string {
	var parts []string
	size := 0
	for _, line := range strings.FieldsFunc(escapes().ReplaceAllString(w.raw.String(), ""), func(c rune) bool { return c == '\n' || c == '\r' }) {
		line = strings.TrimPrefix(cleanText(line), "remote: ")
		if banner().MatchString(line) || counting().MatchString(line) {
			continue
		}
		if size += len(line) + 2; size > saidMax {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, line)
	}
	return strings.Join(parts, "; ")
}
