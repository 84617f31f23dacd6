package objects

import (
	"fmt"
	"strings"
)

// Bounds of the examples of an item: more are not signed, and are not read.
const (
	MaxExamples = 16
	MaxExample  = 200 // bytes of one
)

// examplesOf reads the questions that an item answers: a list of texts, or a text with one in each
// line. Other programs have other things in a field of that name; it is no error.
func examplesOf(v any) (all []string) {
	var texts []string
	switch v := v.(type) {
	case string:
		texts = strings.Split(v, "\n")
	case []any:
		for _, e := range v[:min(len(v), MaxExamples+1)] {
			s, ok := e.(string)
			if !ok {
				return nil
			}
			texts = append(texts, s)
		}
	}
	for _, s := range texts {
		if s = strings.Join(strings.Fields(s), " "); s != "" && len(all) <= MaxExamples {
			all = append(all, s)
		}
	}
	return all
}

// Questions returns the examples within their bounds, one in each line.
func (m *Meta) Questions() string {
	var all []string
	for _, s := range m.Examples[:min(len(m.Examples), MaxExamples)] {
		if len(s) <= MaxExample {
			all = append(all, s)
		}
	}
	return strings.Join(all, "\n")
}

// examples checks the questions that an item answers.
func (v *validator) examples() {
	all := v.it.Meta.Examples
	if len(all) > MaxExamples {
		v.add("examples", fmt.Sprintf("more than %d examples", MaxExamples), "keep those in the words that people use")
	}
	for _, s := range all {
		if r, bad := deceptive(s); bad {
			v.add("examples", fmt.Sprintf("examples holds the invisible character U+%04X", r), "delete the character")
		} else if len(s) > MaxExample {
			v.add("examples", fmt.Sprintf("an example has %d bytes, want at most %d", len(s), MaxExample), "one question in one sentence")
		}
	}
}
