package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye/internal/secrets"
	"github.com/rye-os/rye/internal/words"
)

// prose are parameters of the library's tools that hold text and not the name of a file to read.
var prose = []string{"content", "new_content", "pattern"}

// Secrets returns a finding for each parameter that names a file which usually holds secrets. It
// looks at whole texts, in lists and mappings too, and at the words of the command in the
// parameter called shell. It serves calls that a person did not make: a person is asked before
// such a file is read. The sandbox guards the files that a program finds by itself.
func Secrets(params map[string]any, shell string) (all []Finding) {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if slices.Contains(prose, name) {
			continue
		}
		for _, p := range named(params[name], name == shell && shell != "", 0) {
			all = append(all, Finding{Tier: T2, Label: "secret", Param: name, Text: fmt.Sprintf("%s usually holds secrets", words.Brief(p))})
		}
	}
	return all
}

// named returns the names of secret files in a value.
func named(v any, isShell bool, depth int) (all []string) {
	if depth > maxNesting {
		return nil
	}
	switch v := v.(type) {
	case string:
		if isShell {
			return slices.DeleteFunc(shellWords(v), func(w string) bool { return !secrets.Named(w) })
		}
		if secrets.Named(v) {
			return []string{v}
		}
	case []any:
		for _, e := range v {
			all = append(all, named(e, isShell, depth+1)...)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if !slices.Contains(prose, k) {
				all = append(all, named(v[k], isShell, depth+1)...)
			}
		}
	}
	return all
}

// maxNesting is the depth to which a parameter is searched.
const maxNesting = 16

// shellWords returns the words of a command that could be paths. Blanks and operators separate
// them, and quotes are removed. Quoted text with blanks is a message and not a path.
func shellWords(text string) (all []string) {
	var word strings.Builder
	quote, blanks := rune(0), false
	end := func() {
		if word.Len() > 0 && !blanks {
			all = append(all, word.String())
		}
		word.Reset()
		blanks = false
	}
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			blanks = blanks || r == ' ' || r == '\n'
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote = r
		case r == '\\':
		case strings.ContainsRune(" \t\n;&|<>()=,:@`", r):
			end()
		default:
			word.WriteRune(r)
		}
	}
	end()
	return all
}
